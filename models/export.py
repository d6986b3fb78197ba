"""export -- write a model the way that cfx reads it: text and weights.

    export(model.eval(), "m")           m.fx and m.safetensors
    export_quantized(convert_fx(...), "m")       also convert_to_reference_fx

The text is cfx's superset of what PyTorch prints: nothing is hidden in it.
Constructor arguments that a repr leaves out, training flags, strings in quotes,
bare parameters and tensors that are neither parameter nor buffer (those that
torch.export lifts) are all there.  doc/text.md is its specification.
`model` may be a GraphModule, such as torch.export.export(...).module().
"""

import inspect
import os

import torch
from torch import fx, nn
from torch.ao.nn import quantized
from torch.ao.nn.quantized import dynamic
from torch.ao.nn.quantized.modules.utils import WeightedQuantizedModule
from torch.nn.utils.parametrize import is_parametrized

DTYPES = {
    torch.float32: "f32", torch.float64: "f64", torch.float16: "f16",
    torch.bfloat16: "bf16", torch.bool: "b8", torch.uint8: "u8",
    torch.int8: "i8", torch.int16: "i16", torch.int32: "i32",
    torch.int64: "i64", torch.complex64: "c64", torch.complex128: "c128",
    torch.uint16: "u16", torch.uint32: "u32", torch.uint64: "u64",
}
CONSTANTS = (torch.dtype, torch.memory_format, torch.layout)
CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict, nn.ParameterList,
              nn.ParameterDict, fx.GraphModule)

# ------------------------------------------------------------------- values


class Values:
    """Values as text; the tensors in them are gathered in `tensors`."""

    def __init__(self):
        self.tensors = {}

    def text(self, v):
        if isinstance(v, fx.Node):
            return "%" + v.name
        if isinstance(v, torch.Tensor):
            name = next((k for k, t in self.tensors.items() if t is v),
                        f"%tensor{len(self.tensors)}")
            self.tensors[name] = v
            return f"tensor({name!r}, {type_of(v)})"
        if v is None or v is Ellipsis or isinstance(v, (bool, int, float)):
            if isinstance(v, (torch.SymInt, torch.SymFloat)):
                raise TypeError("a symbolic number has no text")
            return "..." if v is Ellipsis else repr(v)
        if isinstance(v, str):
            return repr(str(v))
        if isinstance(v, complex):
            return f"complex({v.real!r}, {v.imag!r})"
        if isinstance(v, (slice, range)):
            return (f"{type(v).__name__}({self.text(v.start)}, "
                    f"{self.text(v.stop)}, {self.text(v.step)})")
        if isinstance(v, torch.device):
            return f"device({str(v)!r})"
        if isinstance(v, CONSTANTS):
            return str(v)
        if isinstance(v, tuple) and (type(v) in (tuple, torch.Size)):
            items = ", ".join(map(self.text, v))
            return f"({items},)" if len(v) == 1 else f"({items})"
        if isinstance(v, list):
            return "[" + ", ".join(map(self.text, v)) + "]"
        if isinstance(v, dict):
            return "{" + ", ".join(f"{self.text(k)}: {self.text(x)}"
                                   for k, x in v.items()) + "}"
        raise TypeError(f"{type(v).__name__} {v!r} has no text")


def type_of(t):
    if t.dtype not in DTYPES:
        raise TypeError(f"cfx has no tensors of {t.dtype}")
    return f"{DTYPES[t.dtype]}{list(t.shape)}"


# ------------------------------------------------------------------ modules


def activation(f):
    for name in "relu", "gelu":
        if f in (getattr(nn.functional, name), getattr(torch, name, None)):
            return name
    raise TypeError(f"the activation {f!r} has no text")


def attention(m):
    return dict(embed_dim=m.embed_dim, num_heads=m.num_heads,
                dropout=float(m.dropout), bias=m.in_proj_bias is not None,
                add_bias_kv=m.bias_k is not None,
                add_zero_attn=m.add_zero_attn, kdim=m.kdim, vdim=m.vdim,
                batch_first=m.batch_first)


def encoder_layer(m):
    return dict(d_model=m.linear1.in_features, nhead=m.self_attn.num_heads,
                dim_feedforward=m.linear1.out_features, dropout=m.dropout.p,
                layer_norm_eps=m.norm1.eps,
                batch_first=m.self_attn.batch_first, norm_first=m.norm_first,
                bias=m.linear1.bias is not None,
                **({} if isinstance(m.activation, nn.Module)
                   else {"activation": activation(m.activation)}))


def recurrent(m):
    names = ["input_size", "hidden_size", "num_layers", "bias", "batch_first",
             "dropout", "bidirectional"]
    if isinstance(m, nn.RNN):
        names.append("nonlinearity")
    if isinstance(m, nn.LSTM):
        names.append("proj_size")
    return {name: getattr(m, name) for name in names}


# Arguments that are no attributes of the same name.
SPECIAL = {nn.MultiheadAttention: attention, nn.RNNBase: recurrent,
           nn.TransformerEncoderLayer: encoder_layer,
           nn.PairwiseDistance: lambda m: dict(p=m.norm, eps=m.eps,
                                               keepdim=m.keepdim),
           nn.Identity: lambda m: {}, nn.TransformerEncoder: lambda m: {}}
# Arguments that say only how a module begins, or how gradients are made.
IGNORED = {"self", "device", "dtype", "_weight", "_freeze", "init",
           "size_average", "reduce", "process_group", "min_value", "max_value",
           "args", "kwargs", "_random_samples"}


def arguments(m):
    """The constructor's arguments of a module of torch.nn, by name."""
    for kind, of in SPECIAL.items():
        if isinstance(m, kind):
            return of(m)
    kind = type(m)
    if is_parametrized(m):
        kind = kind.__bases__[0]
    if kind.__module__.startswith("torch.ao."):
        raise TypeError(f"{kind.__module__}.{kind.__name__} belongs to a "
                        "quantized model: export_quantized(model, path) "
                        "writes those")
    if not kind.__module__.startswith("torch.nn."):
        return {}
    out = {}
    for name in inspect.signature(kind.__init__).parameters:
        if name in IGNORED:
            continue
        if not hasattr(m, name):
            raise TypeError(f"a {kind.__name__} does not keep the argument "
                            f"{name!r} of its constructor")
        v = getattr(m, name)
        if name == "bias":
            v = v is not None and v is not False
        if not isinstance(v, (torch.Tensor, nn.Module)):
            out[name] = v
    return out


def put_module(out, values, m, indent):
    """A module's line, and those of its children."""
    given = {} if isinstance(m, CONTAINERS) else arguments(m)
    if m.training:
        given["training"] = True
    text = ", ".join(f"{k}={values.text(v)}" for k, v in given.items())
    out.append(f"{type(m).__name__.split('.')[-1]}({text}")
    for key, child in m._modules.items():
        if child is not None:
            out.append(f"\n{indent}  ({key}): ")
            put_module(out, values, child, indent + "  ")
    out.append(f"\n{indent})" if any(m._modules.values()) else ")")


# -------------------------------------------------------------------- graphs


def put_node(out, values, n):
    if n.op == "output":
        out.append(f"    return {values.text(n.args[0])}\n")
        return
    out.append(f"    %{n.name} : [num_users={len(n.users)}] = ")
    target = n._pretty_print_target(n.target)
    out.append(f"{n.op}[target={target}]")
    if n.op == "placeholder":
        if n.args:
            out.append(f"(default={values.text(n.args[0])})")
    elif n.op != "get_attr":
        kwargs = ", ".join(f"{k}: {values.text(v)}"
                           for k, v in n.kwargs.items())
        out.append(f"(args = {values.text(tuple(n.args))}, "
                   f"kwargs = {{{kwargs}}})")
    out.append("\n")


def put_graphs(out, values, gm):
    for path, m in gm.named_modules(remove_duplicate=False):
        if isinstance(m, fx.GraphModule):
            out.append(f"\ngraph {path}():\n" if path else "graph():\n")
            for n in m.graph.nodes:
                put_node(out, values, n)


# --------------------------------------------------------------------- state


def state_of(gm):
    """All tensors by name: parameters, buffers, and what get_attr reads."""
    state = {}
    for name, p in gm.named_parameters(remove_duplicate=False):
        state[name] = (p, "parameter")
    for name, b in gm.named_buffers(remove_duplicate=False):
        state[name] = (b, "buffer")
    for path, m in gm.named_modules(remove_duplicate=False):
        if not isinstance(m, fx.GraphModule):
            continue
        for n in m.graph.nodes:
            if n.op != "get_attr":
                continue
            v = m
            for atom in n.target.split("."):
                v = getattr(v, atom)
            if isinstance(v, torch.Tensor):
                name = f"{path}.{n.target}" if path else n.target
                state.setdefault(name, (v, "buffer"))
    return state


def put_state(out, state):
    if state:
        out.append("state:\n")
        out += [f"    {name}: {type_of(t)} {kind}\n"
                for name, (t, kind) in state.items()]
        out.append("\n")


def save(tensors, path):
    """Each under its own name, also those that share memory."""
    import safetensors.torch
    safetensors.torch.save_file(
        {k: v.detach().clone(memory_format=torch.contiguous_format)
         for k, v in tensors.items()}, path)
    os.chmod(path, 0o644)


def text_of(gm):
    """The text of a GraphModule, its state and the tensors among arguments."""
    values, state, out = Values(), state_of(gm), ["# cfx 1\n"]
    put_module(out, values, gm, "")
    out.append("\n\n")
    put_state(out, state)
    put_graphs(out, values, gm)
    return "".join(out), {name: t for name, (t, _) in state.items()}, \
        values.tensors


def export(model, path):
    """Write PATH.fx and PATH.safetensors; traces what is no GraphModule."""
    gm = (model if isinstance(model, fx.GraphModule)
          else fx.symbolic_trace(model))
    text, state, tensors = text_of(gm)
    with open(path + ".fx", "w", encoding="utf-8") as file:
        file.write(text)
    save(state | tensors, path + ".safetensors")
    return gm


def save_text(gm, path):
    with open(path + ".fx", "w", encoding="utf-8") as file:
        file.write(f"{gm!r}\n\n{gm.graph}\n")


def export_text(model, path):
    """The same, but the text is PyTorch's own."""
    gm = fx.symbolic_trace(model.eval())
    save_text(gm, path)
    save(dict([*gm.named_parameters(remove_duplicate=False),
               *gm.named_buffers(remove_duplicate=False)]),
         path + ".safetensors")
    return gm


# ---------------------------------------------------------- quantized models


def integers(weight, name):
    """A quantized tensor as integers, with a scale for each channel."""
    n = weight.shape[0]
    if weight.qscheme() == torch.per_tensor_affine:
        scales = torch.full([n], weight.q_scale())
        zeros = torch.full([n], weight.q_zero_point())
    else:
        scales = weight.q_per_channel_scales().float()
        zeros = weight.q_per_channel_zero_points()
    return {name: weight.int_repr(), name + "_scale": scales,
            name + "_zero_point": zeros}


def packed(weight, bias, name, bias_name):
    """A weight and its bias, which is there even if it is None: the text of
    linear layers does not tell."""
    if bias is None:
        bias = torch.zeros(weight.shape[0])
    return integers(weight, name) | {bias_name: bias}


def spell_out_windows(gm):
    """Functions of convolutions take what their packed weights hold."""
    for n in gm.graph.nodes:
        if n.op == "call_function" and "quantized.conv" in str(n.target) and \
                len(n.args) == 4:
            p = getattr(gm, n.args[1].target)
            n.args = (*n.args[:2], p.stride(), p.padding(), p.dilation(),
                      p.groups(), *n.args[2:])


def export_quantized(gm, path):
    """Write a model of torch.ao's convert_fx, in PyTorch's text; its packed
    weights become tensors of integers."""
    state = dict(gm.named_parameters()) | dict(gm.named_buffers())
    for name, m in gm.named_modules():
        if getattr(m, "padding_mode", "zeros") != "zeros":
            raise TypeError(f"{name} does not pad with zeros")
        if isinstance(m, quantized.Embedding):
            state |= integers(m.weight(), name + ".weight")
        elif isinstance(m, WeightedQuantizedModule):
            state |= packed(m.weight(), m.bias(), name + ".weight",
                            name + ".bias")
            if m.bias() is None and not isinstance(m, quantized.Linear):
                del state[name + ".bias"]
        elif isinstance(m, dynamic.modules.rnn.RNNBase):
            for key, weight in m.get_weight().items():
                state |= integers(weight, f"{name}.{key}")
            state |= {f"{name}.{key}": bias
                      for key, bias in m.get_bias().items()
                      if bias is not None}
        if type(m).__module__.startswith("torch.ao.nn.") and \
                hasattr(m, "scale") and not isinstance(m, dynamic.Linear):
            state[name + ".scale"] = torch.as_tensor(m.scale)
            state[name + ".zero_point"] = torch.as_tensor(m.zero_point)
    spell_out_windows(gm)
    for n in gm.graph.find_nodes(op="get_attr"):
        if isinstance(getattr(gm, n.target, None), torch.ScriptObject):
            w, b = getattr(gm, n.target).unpack()
            state |= packed(w, b, n.target, n.target + "_bias")
    save_text(gm, path)
    save(state, path + ".safetensors")
    return gm
