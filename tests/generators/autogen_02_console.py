"""Make real AutoGen 0.2 transcripts and a notebook: what a terminal and Jupyter show.

No network, no key: scripted models. Install and run (Python 3.11):

    pip install pyautogen==0.2.35 termcolor nbclient ipykernel
    python tests/generators/autogen_02_console.py tests/formats/autogen

Every function in CASES runs chats while standard output is redirected, as
`python chat.py > input.txt` does. The notebook is executed with nbclient.
"""

import contextlib
import io
import os
import sys
import tempfile
from pathlib import Path
from unittest import mock

import nbclient
import nbformat
from autogen import GroupChat, GroupChatManager, initiate_chats
from autogen.coding import LocalCommandLineCodeExecutor
from autogen_02 import TOOLS, assistant, is_end, tool_calls, user

RULE = "-" * 80


def console_tools():
    """Two calls in one message, one raises; then code that is executed."""
    clerk = assistant(
        "stock clerk",
        {
            "content": "Both at once.",
            **tool_calls(
                ("call_rye01", "count_stock", '{\n  "item": "Roggenbrot"\n}'),
                ("call_flour1", "order_flour", '{"kg": 80}'),
            ),
        },
        "I add it up.\n```python\nprint('Stück:', 12 + 5)\n```",
        "17 loaves. TERMINATE",
    )
    with tempfile.TemporaryDirectory() as folder:
        executor = LocalCommandLineCodeExecutor(work_dir=folder)
        till = user("till", function_map=TOOLS, code_execution_config={"executor": executor})
        till.initiate_chat(clerk, message="Do we have Roggenbrot?\n\nAnd enough flour?")


def console_cut():
    """console_tools, cut in the middle of a message."""
    whole = printed(console_tools)
    print(whole[: whole.index("12 + 5")], end="")


def console_group():
    """A group with colours; a rule and a header inside a message, a function_call, an empty reply."""
    foreman = user("foreman", function_map=TOOLS, default_auto_reply="")
    planner = assistant(
        "planner",
        f"The note of yesterday said:\n{RULE}\nclerk (to baker):\nbake less\n{RULE}\nSo we do.",
        "Baker, what do you say?",
        "Then we are done. TERMINATE",
    )
    clerk = assistant(
        "clerk",
        {"function_call": {"name": "count_stock", "arguments": '{"item": "Brezel"}'}},
        "None is left.",
        functions=[{"name": "count_stock", "parameters": {"type": "object", "properties": {}}}],
    )
    baker = assistant("baker", "No Brezel, then. ¡Vale!")
    agents = [foreman, planner, clerk, baker]
    group = GroupChat(agents, [], max_round=9, speaker_selection_method="round_robin")
    manager = GroupChatManager(group, llm_config=False, is_termination_msg=is_end)
    with mock.patch("termcolor.termcolor.can_colorize", return_value=True):
        foreman.initiate_chat(manager, message="Get the shop ready for Saturday.")


def console_nested():
    """Two chats in a row; the second is given the summary of the first."""
    guest = user("guest", default_auto_reply="")
    chats = [
        {"sender": guest, "recipient": assistant("travel_desk", "Porto, in May. TERMINATE"),
         "message": "Where to?", "summary_method": "last_msg", "max_turns": 1, "verbose": True},
        {"sender": guest, "recipient": assistant("packer", "One coat. TERMINATE"),
         "message": "What do I pack?", "max_turns": 1, "verbose": True},
    ]
    initiate_chats(chats)


def printed(case):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        case()
    return out.getvalue()


CELLS = [
    ("markdown", "# The bakery\nTwo chats, and one that fails."),
    ("code", "import warnings\nwarnings.simplefilter('ignore')\n"
             "from autogen_02 import TOOLS, assistant, tool_calls, user\nprint('ready')"),
    ("code", "till = user('till')\n"
             "clerk = assistant('clerk', 'Twelve loaves.', 'Until six. TERMINATE')\n"
             "till.initiate_chat(clerk, message='How many are left, and for how long?')"),
    ("code", "call = tool_calls(('call_1', 'count_stock', '{\"item\": \"Brezel\"}'))\n"
             "clerk = assistant('clerk', call, 'None is left. TERMINATE')\n"
             "till = user('till', function_map=TOOLS)\n"
             "_ = till.initiate_chat(clerk, message='Sind noch Brezeln da?')"),
    ("code", "clerk = assistant('clerk', 'One more question?')\n"
             "try:\n"
             "    user('till', default_auto_reply='Yes?').initiate_chat(clerk, message='Hello.')\n"
             "except IndexError as error:\n"
             "    print('stopped:', error)"),
]


def notebook():
    """The notebook, executed."""
    made = {"markdown": nbformat.v4.new_markdown_cell, "code": nbformat.v4.new_code_cell}
    cells = [made[kind](source, id=f"cell-{number}") for number, (kind, source) in enumerate(CELLS)]
    book = nbformat.v4.new_notebook(cells=cells)
    here = str(Path(__file__).parent)
    with mock.patch.dict(os.environ, {"PYTHONPATH": here}), tempfile.TemporaryDirectory() as folder:
        nbclient.NotebookClient(book, resources={"metadata": {"path": folder}}).execute()
    return nbformat.writes(book) + "\n"


CASES = [console_tools, console_cut, console_group, console_nested]


def main(out):
    texts = {f"{case.__name__}/input.txt": printed(case) for case in CASES}
    texts["notebook/input.ipynb"] = notebook()
    for name, text in texts.items():
        path = out / f"02_{name}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
