"""Golden accounting vectors: certified values of privacy bounds, for people who write accountants."""
