"""Makes sample.ipynb anew from template.ipynb and sample.csv, and executes it.

    cargo build --release
    python notebooks-export/make_sample.py [path of the program]

Needs the packages of requirements.txt. sample.csv is the feature table of the bundled examples:

    veridiff score --input examples/demo.jsonl --preset paper --output notebooks-export/sample.csv
"""

import subprocess
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).resolve().parent
program = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else HERE.parent / "target/release/veridiff"
subprocess.run([program, "eval", "--input", "sample.csv", "--bootstrap", "0", "--notebook", "sample.ipynb"], cwd=HERE,
               check=True, stdout=subprocess.DEVNULL)
path = HERE / "sample.ipynb"
notebook = nbformat.read(path, 4)
nbformat.validate(notebook)
NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(HERE)}}).execute()
for cell in notebook.cells:
    # times and versions of this machine are nobody's business, and would change with every run
    cell.metadata.pop("execution", None)
notebook.metadata = {"kernelspec": notebook.metadata.kernelspec, "language_info": {"name": "python"}}
nbformat.write(notebook, path)
