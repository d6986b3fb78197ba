/*
 * opcode -- the names of the six opcodes.
 */
#include <cfx/graph.h>

const char *const cfx_opcode_names[CFX_NOPCODES] = {
    [CFX_PLACEHOLDER] = "placeholder",     [CFX_GET_ATTR] = "get_attr",
    [CFX_CALL_FUNCTION] = "call_function", [CFX_CALL_METHOD] = "call_method",
    [CFX_CALL_MODULE] = "call_module",     [CFX_OUTPUT] = "output",
};
