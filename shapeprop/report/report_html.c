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

/* A sink to the page in which `<` is an escape. */
static cfx_status write_escaped(void *user, const char *s, size_t len)
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
    return o->status;
}

static void put_document(cfx_out *o, cfx_report_document *document, void *user)
{
    cfx_out escaped;
    cfx_out_init(&escaped, (cfx_sink){write_escaped, o});
    document(&escaped, user);
    cfx_out_fail(o, cfx_out_finish(&escaped, NULL));
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

cfx_status cfx_report__print_html(cfx_sink to, cfx_report *r,
                                  cfx_report_document *document, void *user,
                                  cfx_error *err)
{
    cfx_out out;
    cfx_out_init(&out, to);
    for (const char *const *line = cfx_report__page; *line; line++) {
        if (!strcmp(*line, "%%title\n"))
            put_title(&out, r->from->model);
        else if (!strcmp(*line, "%%picture\n"))
            cfx_report__draw(&out, r);
        else if (!strcmp(*line, "%%document\n"))
            put_document(&out, document, user);
        else
            cfx_out_puts(&out, *line);
    }
    return cfx_out_finish(&out, err);
}
