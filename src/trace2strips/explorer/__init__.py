"""The world explorer: one page on which a learned world can be looked at, tried and questioned.

`contents` says what the page is told, `page` writes it, `serving` offers it with real planners. The page itself is
TypeScript (`web/`); what it builds is here: `bundle.js`, `bundle.css`, and the licences of what they contain.
"""
