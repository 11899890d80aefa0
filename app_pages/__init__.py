"""The dashboard's pages, one a file, and the little they share.

A page arranges columns of views; it decides and computes nothing. `frame.py` is what stands around
every page (language, time zone, instant, freshness), `address.py` keeps filters in the URL,
`words.py` puts the log's codes into words, `formats.py` writes values the reader's way,
`lists.py` pages long views, `charts.py` draws, `explained.py` shows what a chart rests on,
`links.py` leads to other pages, `i18n.py` translates, and `security.py` guards the HTTP answers.
"""
