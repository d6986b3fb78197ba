#!/usr/bin/env python3
"""aten_names -- the signatures of ATen's forward operators, composite ones too.

    aten_names.py > ../golden/aten_names.txt

A line for each overload that PyTorch's dispatcher knows, as PyTorch prints it,
but for the kinds in LEFT_OUT, whose number is counted on stderr.  The test
registry looks for each in cfx.
"""

import collections
import re
import sys

import torch

# What no graph of a forward pass has, or what other libraries compute.
LEFT_OUT = {
    "writes to out=": None,
    "lists of tensors at once": r"^_(foreach|fused|amp)_",
    "sparse layouts": r"sparse|_coo\b|_[cb]s[rc]\b|^c(col|row)_|^(col|row)_ind|"
                      r"_nnz|coalesce|_cslt|^_?(indices|values)$|^_dim[IV]$|"
                      r"spmm|^_sp(diags|solve)|^s?smm$|^sspaddmm|dense",
    "other libraries": r"cudnn|miopen|mkldnn|mps|cuda|cufft|nnpack|fbgemm|"
                       r"vulkan|_efficient_attention|_flash_attention|triton|"
                       r"_xla_|overrideable",
    "gradients": r"backward|_grad\b|_grads\b|requires_grad|_double|_jvp|"
                 r"^_fw_primal|_dual|^get_gradients",
    "quantized tensors": r"^q_|_make_per|^quantize|^quantized|^_?choose_q|"
                         r"^int_repr|dequantize|^qscheme|^empty_quantized|"
                         r"^_empty_.*quantized|^_wrapped_|_dyn_quant",
    "nested tensors": r"nested|jagged|to_padded_tensor",
    "names of axes": None,
    "PyTorch's own tests": r"^_test_|^_foobar",
}


def kind_of(schema):
    name = schema.name.removeprefix("aten::")
    if any(a.kwarg_only and a.is_out for a in schema.arguments):
        return "writes to out="
    if "Dimname" in str(schema):
        return "names of axes"
    for kind, pattern in LEFT_OUT.items():
        if pattern and re.search(pattern, name):
            return kind
    return None


def main():
    known = set(torch._C._dispatch_get_all_op_names())
    left, kept = collections.Counter(), set()
    for schema in torch._C._jit_get_all_schemas():
        name = schema.name + ("." + schema.overload_name
                              if schema.overload_name else "")
        if not name.startswith("aten::") or name not in known:
            continue
        kind = kind_of(schema)
        if kind:
            left[kind] += 1
        else:
            kept.add(str(schema).removeprefix("aten::"))
    print("\n".join(sorted(kept)))
    for kind, n in left.items():
        print(f"{n:5} {kind}", file=sys.stderr)
    print(f"{len(kept):5} signatures", file=sys.stderr)


if __name__ == "__main__":
    main()
