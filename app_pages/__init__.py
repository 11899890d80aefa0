"""The dashboard's pages; what they share stands in rooms below them.

    pages/     one page a file, whose stem is its address
    door/      who may come in, and what they may open
    language/  translations, words for the log's codes, formats
    charts/    figures, one subject per file
    parts/     what pages are put together from: views, filters, lists, forms, links
    desk/      what people do with the rows that pages show: find, take on, note, remind, compare

A page arranges columns of views; it decides and computes nothing.
"""
