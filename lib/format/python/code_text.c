/*
 * code_text -- assemble the text of a Python function.
 *
 * Parameters, wrapped functions and the result's type precede the body but are
 * known only after it. The body has no indentation yet, so that transforms see
 * plain lines.
 */
#include "format/python/coder.h"

/* ---- The body ---- */

bool cfx_code_body__note(cfx_code_body *b, const cfx_node *n)
{
    if (!b->notes)
        return true;
    if (cfx_grow(b->text.ctx, b->node, b->cap, b->len + 1, NULL))
        return false;
    b->node[b->len++] = n;
    return true;
}

void cfx_code_body__release(cfx_code_body *b)
{
    cfx_free(b->text.ctx, b->node, b->cap * sizeof(*b->node));
    cfx_buf_release(&b->text);
}

cfx_status cfx_code_add(cfx_code_body *to, const char *text, size_t len,
                        const cfx_node *n, cfx_error *err)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] == '\n' && !cfx_code_body__note(to, n))
            return cfx_no_memory(err);
    cfx_buf_add(&to->text, text, len);
    cfx_buf_putc(&to->text, '\n');
    if (to->text.failed || !cfx_code_body__note(to, n))
        return cfx_no_memory(err);
    return CFX_OK;
}

/* The lines of a body, for one transform. */
static cfx_code_line *cut_lines(const cfx_code_body *b, size_t *n)
{
    const char *s = cfx_buf_str(&b->text);
    size_t count = 0;
    for (size_t i = 0; i < b->text.len; i++)
        count += s[i] == '\n';
    cfx_code_line *line = cfx_alloc(b->text.ctx, (count + 1) * sizeof(*line));
    for (size_t i = 0; i < count && line; i++) {
        size_t len = strcspn(s, "\n");
        line[i] = (cfx_code_line){s, len, i < b->len ? b->node[i] : NULL};
        s += len + 1;
    }
    *n = count;
    return line;
}

static void transform(cfx_coder *c, const cfx_code_transform *t)
{
    size_t n;
    cfx_code_body to = {.notes = true};
    cfx_code_line *line = cut_lines(&c->body, &n);
    cfx_buf_init(&to.text, c->ctx);
    cfx_status st = line ? t->run(t->user, line, n, &to, c->err) : CFX_ENOMEM;
    if (st == CFX_ENOMEM)
        cfx_no_memory(c->err);
    else if (st)
        cfx_fail(c->err, st, "a transform failed");
    cfx_free(c->ctx, line, (n + 1) * sizeof(*line));
    cfx_code_body__release(&c->body);
    c->body = to;
}

void cfx_coder__transform(cfx_coder *c)
{
    for (const cfx_code_transform *t = c->how->transform; t && !c->err->code;
         t = t->next)
        transform(c, t);
}

/* ---- The prologue ---- */

static void put_param(cfx_out *o, const cfx_coder *c, const char *text,
                      const char *desc)
{
    cfx_out_puts(o, c->how->expanded_def ? "    " : "");
    cfx_out_puts(o, text);
    if (!c->how->expanded_def)
        return;
    cfx_out_puts(o, *desc ? ",  # " : ",");
    cfx_out_puts(o, desc);
    cfx_out_putc(o, '\n');
}

static void put_prologue(cfx_out *o, const cfx_coder *c)
{
    const char *text = cfx_buf_str(&c->params), *desc = cfx_buf_str(&c->descs);
    bool lines = c->how->expanded_def;
    cfx_out_puts(o, lines ? "def forward(\n" : "def forward(");
    if (!c->nparams || strcmp(text, "self"))
        put_param(o, c, "self", "");
    for (size_t i = 0; i < c->nparams; i++) {
        if (!lines && (i || strcmp(text, "self")))
            cfx_out_puts(o, ", ");
        put_param(o, c, text, desc);
        text += strlen(text) + 1;
        desc += strlen(desc) + 1;
    }
    cfx_out_putc(o, ')');
    cfx_out_puts(o, cfx_buf_str(&c->type));
    cfx_out_putc(o, ':');
}

/* Pointers to the texts that stand one after the other. */
static void cut_texts(const char **out, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = s;
        s += strlen(s) + 1;
    }
}

static cfx_status put_own_prologue(cfx_buf *to, const cfx_coder *c)
{
    const cfx_codegen *gen = c->how->codegen;
    const char **text = cfx_calloc(c->ctx, 2 * c->nparams + 1, sizeof(*text));
    if (!text)
        return cfx_no_memory(c->err);
    cfx_code_signature sig = {.params = text,
                              .names = text + c->nparams,
                              .nparams = c->nparams,
                              .result = cfx_buf_str(&c->type)};
    cut_texts(text, cfx_buf_str(&c->params), c->nparams);
    cut_texts(text + c->nparams, cfx_buf_str(&c->param_names), c->nparams);
    cfx_status st = gen->begin(gen->user, cfx_sink_buf(to), &sig, c->err);
    cfx_free(c->ctx, text, (2 * c->nparams + 1) * sizeof(*text));
    return st;
}

static void make_prologue(cfx_buf *to, cfx_coder *c)
{
    cfx_out out;
    cfx_buf_init(to, c->ctx);
    if (c->how->codegen && c->how->codegen->begin) {
        cfx_status st = put_own_prologue(to, c);
        if (st && !c->err->code)
            cfx_fail(c->err, st, "the prologue cannot be written");
    } else {
        cfx_out_init(&out, cfx_sink_buf(to));
        put_prologue(&out, c);
        cfx_out_finish(&out, c->err);
    }
    if (to->failed)
        cfx_no_memory(c->err);
}

/* ---- The whole ---- */

static void end_line(cfx_out *o, cfx_code_frame *f)
{
    cfx_out_putc(o, '\n');
    f->lines++;
}

/* Lines, indented; the last is not ended. */
static void put_indented(cfx_out *o, cfx_code_frame *f, const char *text)
{
    for (;;) {
        size_t n = strcspn(text, "\n");
        cfx_out_repeat(o, ' ', f->indent);
        cfx_out_add(o, text, n);
        if (!text[n])
            return;
        text += n + 1;
        end_line(o, f);
    }
}

static void put_lines(cfx_out *o, const cfx_coder *c, cfx_code_frame *f)
{
    const char *s = cfx_buf_str(&c->body.text), *end = s + c->body.text.len;
    for (size_t i = 0; s < end && !o->status; i++) {
        size_t n = strcspn(s, "\n");
        if (n || !f->class_name)
            cfx_out_repeat(o, ' ', f->indent + 4);
        cfx_out_add(o, s, n);
        s += n + 1;
        if (c->how->line)
            cfx_out_fail(
                o, c->how->line(c->how->line_user, f->lines + 1,
                                i < c->body.len ? c->body.node[i] : NULL));
        end_line(o, f);
    }
}

void cfx_coder__assemble(cfx_out *o, cfx_coder *c, cfx_code_frame *f)
{
    cfx_buf prologue;
    make_prologue(&prologue, c);
    if (f->class_name) {
        cfx_out_repeat(o, ' ', f->indent - 4);
        cfx_out_puts(o, "class ");
        for (const char *p = f->class_name; *p; p++)
            cfx_out_putc(o, cfx_name_has(*p) || strchr(".<>-", *p) ? *p : '_');
        cfx_out_puts(o, "(torch.nn.Module):");
    }
    end_line(o, f);
    if (c->wraps.len)
        put_indented(o, f, c->wraps.s);
    if (!f->class_name || c->wraps.len) {
        end_line(o, f);
        end_line(o, f);
    }
    put_indented(o, f, cfx_buf_str(&prologue));
    end_line(o, f);
    put_lines(o, c, f);
    if (!f->class_name)
        cfx_out_puts(o, "    ");
    if (c->err->code)
        cfx_out_fail(o, c->err->code);
    cfx_buf_release(&prologue);
}

/* ---- Boxed code ---- */

static cfx_status boxed_begin(void *user, cfx_sink to,
                              const cfx_code_signature *sig, cfx_error *err)
{
    cfx_out out;
    (void)user;
    cfx_out_init(&out, to);
    cfx_out_puts(&out, "def forward(self, args_list)");
    cfx_out_puts(&out, sig->result);
    cfx_out_putc(&out, ':');
    for (size_t i = 0, n = 0; i < sig->nparams; i++) {
        if (!strcmp(sig->names[i], "self"))
            continue;
        cfx_out_puts(&out, n++ ? "" : "\n    args_iter = iter(args_list)");
        cfx_out_puts(&out, "\n    ");
        cfx_out_puts(&out, sig->names[i]);
        cfx_out_puts(&out, " = next(args_iter)");
        if (i + 1 == sig->nparams)
            cfx_out_puts(&out, "\n    args_list.clear()");
    }
    return cfx_out_finish(&out, err);
}

const cfx_codegen cfx_codegen_boxed = {
    .size = sizeof(cfx_codegen),
    .begin = boxed_begin,
};
