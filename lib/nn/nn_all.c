/*
 * nn_all -- the built-in module types, in the order of modules.def.
 */
#include <cfx/module.h>

#define MODULE(name) extern const cfx_module_type cfx_module__##name;
#include "nn/modules.def"
#undef MODULE

extern const cfx_module_type *const cfx_modules__builtin[];

const cfx_module_type *const cfx_modules__builtin[] = {
#define MODULE(name) &cfx_module__##name,
#include "nn/modules.def"
#undef MODULE
    NULL};
