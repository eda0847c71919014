"""The generator of the golden vectors; `writing` names its steps."""
