/*
 * report_html -- a report as one page.
 *
 * The page is made of the files in report/ when the library is built. The
 * document stands in it as it came, in an element that browsers do not run,
 * and the page's script draws it. All that could end that element begins with
 * `<`, which in JSON stands only in strings, where it can be written as an
 * escape.
 */
#include "shapeprop/report_impl.h"

static void put_json(cfx_out *o, const char *s, size_t len)
{
    size_t from = 0;
    for (size_t i = 0; i < len; i++) {
        if (s[i] != '<')
            continue;
        cfx_out_add(o, s + from, i - from);
        cfx_out_puts(o, "\\u003c");
        from = i + 1;
    }
    cfx_out_add(o, s + from, len - from);
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

static void put_page(cfx_out *o, cfx_report *r)
{
    for (const char *const *line = cfx_report__page; *line; line++) {
        if (!strcmp(*line, "%%title\n"))
            put_title(o, r->model);
        else if (!strcmp(*line, "%%picture\n"))
            cfx_report__draw(o, r);
        else if (!strcmp(*line, "%%document\n"))
            put_json(o, r->text, r->text_len);
        else
            cfx_out_puts(o, *line);
    }
}

cfx_status cfx_report_html(cfx_sink to, cfx_context *ctx, const char *json,
                           size_t len, cfx_error *err)
{
    return cfx_report__print(to, ctx, json, len, put_page, err);
}
