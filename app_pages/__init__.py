"""The dashboard's pages, one per file; what they share stands in rooms below them.

    door/      who may come in, and what they may open
    language/  translations, words for the log's codes, formats
    charts/    figures, one subject per file
    parts/     what pages are put together from: views, filters, lists, forms, links
    desk/      what people do with the rows that pages show: find, take on, note, remind, compare

A page arranges columns of views; it decides and computes nothing. Its URL is the stem of its file.
"""
