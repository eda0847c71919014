"""Programs that write committed files: golden vectors, tables and generated pages. Not in the wheel."""
