"""Other accountants behind the wire: what they are asked, and their answers compared with certified enclosures."""
