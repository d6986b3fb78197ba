/*
 * report_page -- a roofline document on stdin becomes a report on stdout, for
 * report_browser.sh: `report_page html` or `report_page svg`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/format/report_document.h"

/* All of a stream, for free(). */
static char *read_all(FILE *f, size_t *len)
{
    size_t room = 1 << 20, got;
    char *text = malloc(room);
    *len = 0;
    while (text && (got = fread(text + *len, 1, room - *len, f)) > 0) {
        *len += got;
        if (*len == room) {
            char *more = realloc(text, room *= 2);
            if (!more)
                free(text);
            text = more;
        }
    }
    return text;
}

int main(int argc, char **argv)
{
    cfx_context *ctx;
    cfx_error err = {0};
    size_t len;
    if (argc != 2 || cfx_context_new(&ctx, NULL, &err))
        return 2;
    char *text = read_all(stdin, &len);
    cfx_sink to = cfx_sink_file(stdout);
    cfx_status st = !text ? CFX_ENOMEM
                    : !strcmp(argv[1], "svg")
                        ? report_svg(to, ctx, text, len, &err)
                        : report_html(to, ctx, text, len, &err);
    if (st)
        fprintf(stderr, "%s: %s\n", cfx_status_name(st), err.text);
    free(text);
    cfx_context_free(ctx);
    return st != 0;
}
