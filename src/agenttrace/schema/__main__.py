"""``python -m agenttrace.schema``: write the schema files anew."""

from pathlib import Path

from agenttrace.schema import write_files

write_files(Path(__file__).parent)
