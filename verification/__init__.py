"""Whether what is claimed is so: proofs, golden vectors, adversarial neighbours, conformance behind the wire."""
