#!/usr/bin/env python3
"""to_folder -- does cfx read what torch.fx's GraphModule.to_folder writes?

    to_folder.py CFX [NAME...]     compare the results of traced models
    to_folder.py --golden          write the files of tests/golden/to_folder

CFX is the program. Models are traced by torch.fx.symbolic_trace and written by
to_folder: a Python class, a state dict, and a pickle for each module whose repr it
does not trust. `cfx run FOLDER` must give PyTorch's results to 1e-5 of the largest.
"""

import os
import pathlib
import sys
import tempfile
import warnings

import numpy as np
import torch
from torch import nn

import exports
import pt2
import pt2_write

LIMIT = 1e-5
GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden" / "to_folder"


class Net(nn.Module):
    """Modules that are printed, others that are pickled, and state."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 3, 3, padding=1, padding_mode="circular")
        self.bn = nn.BatchNorm2d(3)
        self.body = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5),
                                  nn.Sequential(nn.GELU("tanh"), nn.ReLU()))
        self.steps = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
        self.norm = nn.LayerNorm(4)
        self.scale = nn.Parameter(torch.randn(4))
        self.register_buffer("shift", torch.arange(4))

    def forward(self, x):
        x = self.body(self.bn(self.conv(x)).mean((2, 3)))
        y = x
        for step in self.steps:
            y = torch.sigmoid(step(y))
        return {"y": self.norm(y) * self.scale + self.shift, "x": x}


def net():
    return Net(), (torch.randn(2, 2, 4, 4),)


def traced(make):
    torch.manual_seed(0)
    model, args, *_ = make()
    for parameter in model.parameters():
        if parameter.dim() == 1:
            nn.init.normal_(parameter, 0.5, 0.2)
    return torch.fx.symbolic_trace(model.eval()), args


def golden():
    module, args = traced(net)
    GOLDEN.mkdir(exist_ok=True)
    os.chdir(GOLDEN)
    module.to_folder("net", "Net")
    for pickled in pathlib.Path("net").glob("*.pt"):
        if pickled.name != "state_dict.pt":     # cfx does not read them
            pickled.unlink()
    np.save("x.npy", args[0].numpy())
    with torch.no_grad(), open("net.txt", "w", encoding="utf-8") as out:
        for name, t in pt2.flatten(module(*args)).items():
            shape = ", ".join(map(str, t.shape))
            print(f"{name} f32[{shape}]\n{t}", file=out)


def check(cfx, make, folder):
    module, args = traced(make)
    path = os.path.join(folder, "model")
    module.to_folder(path, "Net")
    words = []
    for i, t in enumerate(args):
        np.save(f"{folder}/{i}.npy", t.numpy())
        words += ["-i", f"{folder}/{i}.npy"]
    pt2.call(cfx, "run", path, *words, "-O", folder + "/out",
             "--assume-defaults")
    worst = 0.
    with torch.no_grad():
        for name, t in pt2.flatten(module(*args)).items():
            have = np.load(f"{folder}/out/{name}.npy")
            worst = max(worst, exports.whole.distance(have, t.numpy()))
    if not worst <= LIMIT:
        raise pt2.Fails(f"off by {worst:.2g}")
    return f"off by {worst:.2g}"


def main(words):
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    if words[:1] == ["--golden"]:
        golden()
        return 0
    cfx, *names = words
    cfx = os.path.abspath(cfx)
    makers = {name: pt2.MODELS[name] for name in pt2_write.TRACED}
    makers["net"] = net
    bad = 0
    for name in names or makers:
        with tempfile.TemporaryDirectory() as folder:
            try:
                said = check(cfx, makers[name], folder)
            except Exception as why:            # of any trace, too
                said = f"FAILS: {type(why).__name__}: {str(why)[-300:]}"
                bad += 1
            print(f"{name}: {said}", flush=True)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
