"""Reports: one payload, shown as a page, in a notebook, as Markdown, JSON or LaTeX."""
