"""Other accountants behind the wire: questions to them, our certified enclosures, and what their answers are worth."""
