/*
 * nn_containers -- Sequential, ModuleList, ModuleDict; and torch.export's guards.
 */
#include <cfx/module.h>

/* Apply the children in order. Only two values are live at a time. */
static cfx_value Sequential_forward(cfx_scope *s, cfx_module *self,
                                    const cfx_value *in)
{
    cfx_value x = in[0];
    for (size_t i = 0; i < cfx_module_nchildren(self); i++) {
        cfx_module *m = cfx_module_child_at(self, i);
        cfx_value y = cfx_call_module(s, self, cfx_module_name(m), x);
        if (i)
            cfx_scope_drop(s, &x);
        x = y;
    }
    return x;
}

const cfx_module_type cfx_module__Sequential = {
    .schema = "Sequential()",
    /* torch.ao's fused modules. */
    .aliases = "ConvReLU1d ConvReLU2d ConvReLU3d LinearReLU BNReLU2d BNReLU3d",
    .repr = "",
    .doc = "Modules that are called one after the other.",
    .forward_schema = "forward(any input) -> any",
    .forward = Sequential_forward,
};

const cfx_module_type cfx_module__ModuleList = {
    .schema = "ModuleList()",
    .repr = "",
    .doc = "A list of modules.",
    .container = true,
};

const cfx_module_type cfx_module__ModuleDict = {
    .schema = "ModuleDict()",
    .repr = "",
    .doc = "Modules by name.",
    .container = true,
};

/* torch.export inserts this module to check input shapes. Its text does not
 * contain the shapes, so that it checks nothing here. */
static cfx_value GuardsFn_forward(cfx_scope *s, cfx_module *self,
                                  const cfx_value *in)
{
    (void)s;
    (void)self;
    (void)in;
    return cfx_none();
}

const cfx_module_type cfx_module__GuardsFn = {
    .schema = "GuardsFn()",
    .repr = "",
    .doc = "Checks of an exported program's inputs, which are left out.",
    .forward_schema = "forward(any[*] inputs=[]) -> any",
    .forward = GuardsFn_forward,
};
