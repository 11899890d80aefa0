-- The rows of `kept_timeline`, whenever they are shown.
from timeline_rows
