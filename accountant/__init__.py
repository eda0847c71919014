"""What private ADMM costs: certified enclosures of epsilon, at any precision."""
