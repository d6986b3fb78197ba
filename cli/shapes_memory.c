/*
 * shapes_memory -- cfx shapes --memory: print the memory plan.
 */
#include <string.h>

#include <cfx/memory_plan.h>

#include "cli.h"

static cfx_memory_text format_of(const char *name)
{
    if (!name || !strcmp(name, "text"))
        return CFX_MEMORY_TABLE;
    return strcmp(name, "csv") ? CFX_MEMORY_JSON : CFX_MEMORY_CSV;
}

cfx_status cli_print_memory(cli *c, cfx_module *gm, const cli_inputs *in,
                            const cli_symbols *s, const char *format,
                            cfx_error *err)
{
    const cfx_memory_plan_options how = {.size = sizeof(how), .env = s->env};
    cfx_memory_plan *plan = NULL;
    cfx_status st = cfx_memory_plan_new(&plan, gm, in->value, in->n, &how,
                                        err);

    if (!st)
        st = cli_printed(cfx_print_memory(cfx_sink_file(c->out), plan,
                                          format_of(format), err));
    cfx_memory_plan_free(plan);
    return st;
}
