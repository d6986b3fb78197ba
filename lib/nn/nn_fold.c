/*
 * nn_fold -- windows of images as columns, and columns added up to images.
 */
#include <cfx/module.h>
#include <cfx/ops.h>

#define A(name) cfx_attr(self, name)

const cfx_module_type cfx_module__Unfold = {
    .schema =
        "Unfold(any kernel_size, any dilation=1, any padding=0, any stride=1)",
    .repr = "kernel_size dilation padding stride",
    .doc = "The windows of an image as columns.",
    .forward_schema = "forward(Tensor input) -> Tensor",
    .forward = cfx_forward_operator,
    .op = "torch.nn.functional.unfold",
};

const cfx_module_type cfx_module__Fold = {
    .schema =
        "Fold(any output_size, any kernel_size, any dilation=1, any padding=0, any stride=1)",
    .repr = "output_size kernel_size dilation padding stride",
    .doc = "Columns added up to an image where their windows overlap.",
    .forward_schema = "forward(Tensor input) -> Tensor",
    .forward = cfx_forward_operator,
    .op = "torch.nn.functional.fold",
};
