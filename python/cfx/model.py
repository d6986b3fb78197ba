"""The methods of a model that need no C, and the tables that they give."""

import os

from cfx import _cfx

# The descriptions of machines that come with a package that is installed.
MACHINES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "machines")


class Table:
    """Text with a document behind it: str(), .json, a table in a notebook."""

    def __init__(self, text, document):
        self._text = text
        self._document = document

    def __repr__(self):
        return self._text.rstrip("\n")

    @property
    def json(self):
        """The document of the schema that `schema` names."""
        import json
        return json.loads(self._document)


class Shapes(Table):
    """The value of each node, and the symbols and guards of all, in .json."""

    def __getitem__(self, name):
        """The value of a node: {"dtype": "float32", "shape": ["N", 3], ...}."""
        for row in self.json["nodes"]:
            if row["name"] == name:
                return row["value"]
        raise KeyError(name)

    def _repr_html_(self):
        from html import escape
        return f"<pre>{escape(repr(self))}</pre>"


class Roofline:
    """The operations, bytes and least time of each node; and measured times."""

    def __init__(self, report):
        self._report = report

    def print(self, format="text", *, by="", columns=None, sort=None, top=0,
              depth=0):
        """The report as text, markdown, csv, json, html, svg, dot or trace.

        `by` is node, module, operator or bound, and `columns` a text of names
        with commas between them.
        """
        return self._report.print(format, by, columns, sort, top, depth)

    def save(self, path):
        """Write it to a file, in the format that its suffix tells."""
        suffix = str(path).rpartition(".")[2]
        name = {"txt": "text", "md": "markdown", "htm": "html"}.get(suffix,
                                                                   suffix)
        text = self.print(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    @property
    def json(self):
        import json
        return json.loads(self.print("json"))

    def __repr__(self):
        return self.print().rstrip("\n")

    def _repr_html_(self):
        from html import escape
        return (f'<iframe srcdoc="{escape(self.print("html"))}" width="100%" '
                'height="640" style="border: 0"></iframe>')


class Model(_cfx.Model):
    """A model: call it with its inputs, by place or by name.

    Inputs are tensors of PyTorch, NumPy or any library with DLPack, which are not
    copied, or numbers.  Where only shapes count, text such as "f32[N, 3, 224, 224]"
    is an input, too; N is then a symbol.  Methods that change a model return a new
    one, which shares the tensors of this one.
    """

    def shapes(self, *inputs, depth=0, **named):
        """The type and shape of each node, for any sizes of the inputs."""
        return Shapes(*self._shapes(inputs, named, depth))

    def roofline(self, *inputs, machine=None, measure=False, runs=0, **named):
        """The least time of each node on a machine, and with `measure` its time.

        `machine` is a file of `cfx machine`, or a name such as "raspberry-pi-5";
        None is this machine, which is measured once.
        """
        if os.path.isdir(MACHINES):
            os.environ.setdefault("CFX_MACHINES", MACHINES)
        return Roofline(self._roofline(inputs, named, machine,
                                       runs if measure else -1))

    def optimize(self, *inputs, bfloat16=False, int8_weights=False, tune=0.0,
                 **named):
        """A model that computes the same faster, for inputs of these shapes.

        It takes other shapes, too.  `tune` is a time in seconds in which
        algorithms are measured.  `bfloat16` and `int8_weights` change results.
        """
        return self._derived(self._optimize(inputs, named, bfloat16, int8_weights, tune))

    def quantize(self, batches=(), quantizer="x86", *, gptq=False):
        """A quantized model, calibrated on batches of inputs.

        A batch is an input, a tuple of inputs or a dict of named ones.
        cfx.quantizers() lists the quantizers; those of weights need no batches.
        """
        return self._derived(self._quantize([_batch(b) for b in batches], quantizer, gptq))

    def transform(self, *passes, reverse=False, steps=1):
        """A model that passes rewrote: "fuse_conv_bn", "decompose(op=gelu)".

        cfx.passes() lists them.
        """
        return self._derived(self._transform(", ".join(passes), reverse, steps))

    def _derived(self, model):
        vars(model).update(vars(self))
        return model

    def save(self, path, *inputs, **named):
        """Write the model in the format of the path's suffix.

        .fx is PyTorch's text with the weights beside it.  .pt2 and .onnx hold the
        shapes of all values, so that they need inputs, or their shapes, where the
        model does not declare them.
        """
        self._save(path, inputs, named)

    def _repr_html_(self):
        from html import escape
        return (f"<details open><summary>{escape(type(self).__name__)}"
                f"</summary><pre>{escape(str(self.graph))}</pre></details>")


def _batch(batch):
    if isinstance(batch, dict):
        return (), batch
    return (tuple(batch) if isinstance(batch, (tuple, list)) else (batch,)), {}
