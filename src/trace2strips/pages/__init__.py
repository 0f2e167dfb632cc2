"""Pages for people: tables as data, and how they are written as Markdown and as one self-contained HTML page."""
