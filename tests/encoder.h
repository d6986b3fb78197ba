/*
 * encoder.h -- the text of a model with two transformer layers that are called
 * as one module; what follows of `enc` is the test's own.
 */
#ifndef CFX_ENCODER_H
#define CFX_ENCODER_H

/* clang-format off */
#define ENCODER_TEXT \
    "Net(\n" \
    "  (enc): TransformerEncoder(\n" \
    "    (layers): ModuleList(\n" \
    "      (0-1): 2 x TransformerEncoderLayer(norm_first=True\n" \
    "        (self_attn): MultiheadAttention(num_heads=2, batch_first=True\n" \
    "          (out_proj): NonDynamicallyQuantizableLinear(in_features=8, " \
    "out_features=8, bias=True)\n" \
    "        )\n" \
    "        (linear1): Linear(in_features=8, out_features=16, bias=True)\n" \
    "        (dropout): Dropout(p=0.1, inplace=False)\n" \
    "        (linear2): Linear(in_features=16, out_features=8, bias=True)\n" \
    "        (norm1): LayerNorm((8,), eps=1e-05, elementwise_affine=True, " \
    "bias=True)\n" \
    "        (norm2): LayerNorm((8,), eps=1e-05, elementwise_affine=True, " \
    "bias=True)\n" \
    "        (dropout1): Dropout(p=0.1, inplace=False)\n" \
    "        (dropout2): Dropout(p=0.1, inplace=False)\n" \
    "      )\n" \
    "    )\n" \
    "  )\n" \
    ")\n\n" \
    "graph():\n" \
    "    %x : [num_users=1] = placeholder[target=x]\n" \
    "    %enc : [num_users=1] = call_module[target=enc](args = (%x,), " \
    "kwargs = {})\n"
/* clang-format on */

#endif
