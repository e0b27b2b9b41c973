"""Charts and tables of the course, made from recorded runs alone. One concern a module."""
