"""The questions that an implementation is asked: what is sent, what is looked for, at which size."""
