/*
 * report_html -- a report as one page.
 *
 * The page consists of the files in report/, which are embedded when the
 * library is built. It contains the picture, and the JSON document in a script
 * element that browsers do not run; the page's script shows its numbers. Only
 * `<` could end that element. In JSON it occurs in strings only, where it is
 * written as an escape.
 */
#include "shapeprop/report/report_impl.h"

static int put_json(const char *s, size_t len, void *user)
{
    cfx_out *o = user;
    size_t from = 0;
    for (size_t i = 0; i < len; i++) {
        if (s[i] != '<')
            continue;
        cfx_out_add(o, s + from, i - from);
        cfx_out_puts(o, "\\u003c");
        from = i + 1;
    }
    cfx_out_add(o, s + from, len - from);
    return 0;
}

static void put_document(cfx_out *o, const json_t *document)
{
    if (json_dump_callback(document, put_json, o,
                           JSON_COMPACT | JSON_REAL_PRECISION(9)))
        cfx_out_fail(o, CFX_ENOMEM);
    cfx_out_putc(o, '\n');
}

static void put_title(cfx_out *o, const char *model)
{
    if (model) {
        model = cfx_report__short_name(model);
        cfx_report__put_text(o, model, strlen(model));
        cfx_out_puts(o, " \u2013 roofline\n");
    } else {
        cfx_out_puts(o, "Roofline\n");
    }
}

cfx_status cfx_report__print_html_take(cfx_sink to, cfx_report *r,
                                       json_t *document, cfx_error *err)
{
    cfx_out out;
    if (!document)
        return cfx_no_memory(err);
    cfx_out_init(&out, to);
    for (const char *const *line = cfx_report__page; *line; line++) {
        if (!strcmp(*line, "%%title\n"))
            put_title(&out, r->from->model);
        else if (!strcmp(*line, "%%picture\n"))
            cfx_report__draw(&out, r);
        else if (!strcmp(*line, "%%document\n"))
            put_document(&out, document);
        else
            cfx_out_puts(&out, *line);
    }
    json_decref(document);
    return cfx_out_finish(&out, err);
}
