/*
 * cfx quantize -- quantize a model, by its activations on calibration data, or
 * without data.
 */
#include <cfx/interp.h>
#include <cfx/quantize.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "batches.h"

struct quantize_options {
    cli_list calibrate, batch_axis;
    const char *quantizer, *config, *weights_only, *min_snr, *observer;
    int batch, keep_float, group;
    bool quiet, sensitivity, dynamic, gptq, asymmetric, correct_bias, smooth;
};

static const cli_option options[] = {
    {CLI_LIST, 0, "calibrate", "NAME=FILE",
     "set an input to calibration data, which is cut into batches along its first axis; a number is the same for all",
     offsetof(struct quantize_options, calibrate)},
    {CLI_COUNT, 0, "batch", "N",
     "the extent of the first axis in a batch (default: that of the placeholder, if the model tells it, else 32)",
     offsetof(struct quantize_options, batch)},
    {CLI_LIST, 0, "batch-axis", "NAME=AXIS",
     "cut an input along another axis than the first; the default is the axis that has the symbol of the batch",
     offsetof(struct quantize_options, batch_axis)},
    {CLI_TEXT, 0, "quantizer", "NAME",
     "x86 (default): activations in uint8, weights in int8; x86_all: also sums before norms, layer_norm and softmax; weights, weights_int4_g32, ..._g64, ..._g128, weights_int4_asymmetric_g32, ...: weights only; dynamic, dynamic_per_token; embedding",
     offsetof(struct quantize_options, quantizer)},
    {CLI_FLAG, 0, "dynamic", NULL,
     "quantize the inputs of linear layers by the range that they have in each run, without calibration data: --quantizer dynamic",
     offsetof(struct quantize_options, dynamic)},
    {CLI_TEXT, 0, "weights-only", "TYPE",
     "quantize weights only, without calibration data: int8, by channel; int4, those of linear layers, by groups",
     offsetof(struct quantize_options, weights_only)},
    {CLI_COUNT, 0, "group", "N",
     "the elements of an int4 weight with one scale: 32 (default), 64 or 128",
     offsetof(struct quantize_options, group)},
    {CLI_FLAG, 0, "asymmetric", NULL,
     "give each of these groups a zero point, so that its range is that of its elements",
     offsetof(struct quantize_options, asymmetric)},
    {CLI_FLAG, 0, "gptq", NULL,
     "round the weights of linear layers so that errors compensate each other on the calibration data",
     offsetof(struct quantize_options, gptq)},
    {CLI_TEXT, 0, "observer", "NAME",
     "choose ranges of activations by HistogramObserver (default: the least squared error), MinMaxObserver, MovingAverageMinMaxObserver, PercentileObserver (99.99 %) or EntropyObserver",
     offsetof(struct quantize_options, observer)},
    {CLI_FLAG, 0, "smooth", NULL,
     "first move the range of channels from what linear layers read after a norm to their weights (SmoothQuant)",
     offsetof(struct quantize_options, smooth)},
    {CLI_FLAG, 0, "correct-bias", NULL,
     "add to the biases of layers the mean errors of their results on the calibration data",
     offsetof(struct quantize_options, correct_bias)},
    {CLI_TEXT, 0, "config", "FILE",
     "choose the quantizer of each node by JSON: global, object_type, module_name_regex, module_name",
     offsetof(struct quantize_options, config)},
    {CLI_FLAG, 0, "sensitivity", NULL,
     "quantize each pattern alone, and list the patterns by the signal-to-noise ratio of the outputs, the lowest first",
     offsetof(struct quantize_options, sensitivity)},
    {CLI_COUNT, 0, "keep-float", "N",
     "keep the N patterns of the lowest ratios in float",
     offsetof(struct quantize_options, keep_float)},
    {CLI_TEXT, 0, "min-snr", "DB",
     "keep as many of them in float as it takes for the outputs to have a ratio of DB",
     offsetof(struct quantize_options, min_snr)},
    {CLI_FLAG, 'q', "quiet", NULL, "do not print the table of nodes",
     offsetof(struct quantize_options, quiet)},
    {0},
};

/* ---- Steps ---- */

/* Prepare and convert without data; there are no errors to measure. */
static cfx_status quantize_without_data(cfx_module *gm, cfx_quantizer *q,
                                        cfx_quant_report *report,
                                        cfx_error *err)
{
    cfx_status st = cfx_quantize_prepare(gm, q, NULL, 0, report, err);
    return st ? st : cfx_quantize_convert(gm, report, err);
}

/* Prepare, calibrate and convert; *prepared is a copy of the model before
 * converting, for the errors. */
static cfx_status quantize(cfx_module *gm, cfx_quantizer *q, cli_batches *b,
                           const struct quantize_options *o,
                           cfx_quant_report *report, cfx_error *err)
{
    cfx_module *prepared = NULL;
    const cfx_quant_data data = cli_batches_all(b);
    const cfx_value *inputs;
    size_t n;
    cfx_status st = data.batch(data.user, 0, &inputs, &n, err);
    if (!st)
        st = cfx_quantize_prepare(gm, q, inputs, n, report, err);
    if (!st)
        st = cfx_quantize_calibrate(gm, &data, err);
    if (!st)
        st = cfx_module_copy(&prepared, gm, err);
    if (!st && o->gptq)
        st = cfx_quantize_gptq(gm, &data, err);
    if (!st && o->correct_bias)
        st = cfx_quantize_correct_bias(gm, &data, err);
    if (!st)
        st = cfx_quantize_convert(gm, report, err);
    if (!st)
        st = data.batch(data.user, 0, &inputs, &n, err);
    if (!st)
        st = cfx_quantize_measure(report, prepared, gm, inputs, n, err);
    cfx_module_unref(prepared);
    return st;
}

/* ---- Sensitivity ---- */

static cfx_status keep_worst(cfx_quant_patterns *patterns, int keep_float,
                             cfx_error *err)
{
    if ((size_t)keep_float > patterns->n)
        return cfx_fail(
            err, CFX_EINVAL,
            "--keep-float %d is more than the %zu patterns that are quantized",
            keep_float, patterns->n);
    for (size_t i = 0; i < (size_t)keep_float; i++)
        patterns->row[i].keep_float = true;
    return CFX_OK;
}

static cfx_status reach(cfx_quant_patterns *patterns, const cfx_module *gm,
                        cfx_quantizer *q, const cfx_quant_data *data,
                        const char *min_snr, cfx_error *err)
{
    double least = 0, snr;
    cli_read_decibels(min_snr, &least);
    cfx_status st = cfx_quantize_reach_snr(patterns, gm, q, data, least, &snr,
                                           err);
    return st || snr >= least
               ? st
               : cfx_fail(
                     err, CFX_ENUMERIC,
                     "--min-snr %g is out of reach: with all patterns in float the outputs have %.1f dB",
                     least, snr);
}

/* Rank the patterns, and choose those that stay float. */
static cfx_status rank(cfx_quant_patterns *patterns, const cfx_module *gm,
                       cfx_quantizer *q, cli_batches *b,
                       const struct quantize_options *o, cfx_error *err)
{
    const cfx_quant_data sample = cli_batches_sample(b);
    cfx_quant_data data = cli_batches_all(b);
    data.sample = &sample;
    if (o->min_snr)
        return reach(patterns, gm, q, &data, o->min_snr, err);
    cfx_status st = cfx_quantize_sensitivity(patterns, gm, q, &data, err);
    return st ? st : keep_worst(patterns, o->keep_float, err);
}

static void pattern_name(const cfx_quant_pattern *row, char *buf, size_t size)
{
    snprintf(buf, size, "%s%s%s", row->node, row->activation ? ", " : "",
             row->activation ? row->activation : "");
}

static void print_ranking(FILE *to, const cfx_quant_patterns *patterns)
{
    int width = 7;
    char name[256];
    for (size_t i = 0; i < patterns->n; i++) {
        pattern_name(&patterns->row[i], name, sizeof(name));
        int len = (int)strlen(name);
        width = len > width ? len : width;
    }
    fprintf(to, "%-*s  SNR dB\n", width, "pattern");
    for (size_t i = 0; i < patterns->n; i++) {
        const cfx_quant_pattern *row = &patterns->row[i];
        pattern_name(row, name, sizeof(name));
        if (isnan(row->snr))
            fprintf(to, "%-*s       -%s\n", width, name,
                    row->keep_float ? "  float" : "");
        else
            fprintf(to, "%-*s  %6.1f%s\n", width, name, row->snr,
                    row->keep_float ? "  float" : "");
    }
}

/* ---- The table ---- */

static void print_row(FILE *to, const cfx_quant_row *row, int width)
{
    static const char *const kinds[] = {"float", "value", "weight", "shared",
                                        "value"};
    char scale[48] = "", error[32] = "", bytes[64] = "", type[16];
    if (row->kind == CFX_QUANT_FLOAT) {
        fprintf(to, "%-*s  %-6s  %s\n", width, row->node, kinds[row->kind],
                row->reason);
        return;
    }
    snprintf(type, sizeof(type), "%s",
             row->bits == 4 ? "int4" : cfx_dtypes[row->dtype].name);
    if (row->kind == CFX_QUANT_DYNAMIC)
        snprintf(scale, sizeof(scale), "of each run");
    else if (row->channels > 1)
        snprintf(scale, sizeof(scale), "<= %.4g (%lld)", row->scale,
                 (long long)row->channels);
    else
        snprintf(scale, sizeof(scale), "%.4g, zero %lld", row->scale,
                 (long long)row->zero_point);
    if (!isnan(row->error))
        snprintf(error, sizeof(error), "%.2f %%", 100 * row->error);
    if (row->bytes_before)
        snprintf(bytes, sizeof(bytes), "%lld -> %lld",
                 (long long)row->bytes_before, (long long)row->bytes_after);
    fprintf(to, "%-*s  %-6s  %-5s  %-20s  %8s  %s\n", width, row->node,
            kinds[row->kind], type, scale, error, bytes);
}

static void print_table(FILE *to, const cfx_quant_report *report)
{
    int width = 4;
    size_t nfloat = 0;
    int64_t before = 0, after = 0;
    for (size_t i = 0; i < report->n; i++) {
        int len = (int)strlen(report->row[i].node);
        width = len > width ? len : width;
        nfloat += report->row[i].kind == CFX_QUANT_FLOAT;
        before += report->row[i].bytes_before;
        after += report->row[i].bytes_after;
    }
    fprintf(to, "%-*s  %-6s  %-5s  %-20s  %8s  %s\n", width, "node", "what",
            "type", "scale", "error", "bytes");
    for (size_t i = 0; i < report->n; i++)
        print_row(to, &report->row[i], width);
    fprintf(
        to,
        "%zu tensors quantized, %zu nodes stay float; quantized weights: %lld bytes before, %lld after\n",
        report->n - nfloat, nfloat, (long long)before, (long long)after);
}

/* ---- The command ---- */

/* Everything that the command makes from one model. */
struct job {
    cli *c;
    const struct quantize_options *o;
    cfx_quantizer q, *config;      /* config: NULL without --config */
    cfx_quantizer_partial partial; /* q without the sensitive patterns */
    cfx_module *gm;
    cli_batches batches;
    cfx_quant_patterns patterns;
    cfx_quant_report report;
};

static bool keeps_float(const struct quantize_options *o)
{
    return o->keep_float || o->min_snr;
}

/* Is the ranking all that is wanted? */
static bool only_ranks(const struct job *j)
{
    return j->o->sensitivity && !keeps_float(j->o) && !j->c->g.output;
}

static cfx_status rewrite(struct job *j, cfx_error *err)
{
    cfx_quantizer *q = j->config ? j->config : &j->q;
    if (j->o->observer)
        q->activations = cfx_find_activations(j->o->observer);
    const cli_batching cut = {.data = &j->o->calibrate,
                              .axes = &j->o->batch_axis,
                              .batch = j->o->batch};
    bool has_data = j->o->calibrate.n > 0;
    cfx_status st = has_data
                        ? cli_batches_make(&j->batches, j->c, j->gm, &cut, err)
                        : quantize_without_data(j->gm, q, &j->report, err);
    if (!st && j->o->smooth) {
        const cfx_quant_data data = cli_batches_all(&j->batches);
        st = cfx_quantize_smooth(j->gm, &data, err);
    }
    if (!st && (j->o->sensitivity || keeps_float(j->o))) {
        st = rank(&j->patterns, j->gm, q, &j->batches, j->o, err);
        cfx_quantizer_init(&j->partial.base, &cfx_quantizer_partial_class);
        j->partial.of = q;
        j->partial.patterns = &j->patterns;
        j->partial.reason = "it is among the most sensitive";
        q = &j->partial.base;
    }
    if (!st && has_data && !only_ranks(j))
        st = quantize(j->gm, q, &j->batches, j->o, &j->report, err);
    return st;
}

static cfx_status write_model(const struct job *j, cfx_error *err)
{
    const cfx_save_options how = {.size = sizeof(how), .lossless = true};
    if (j->c->g.output)
        return cfx_model_save(j->c->g.output, j->gm, &how, err);
    return cfx_model_print(cfx_sink_file(stdout), j->gm, true, err);
}

/* ---- Warnings ---- */

/* A ratio of the outputs, in dB, below which a model is hardly of use: the error is
 * 18 % of the result. */
enum { FLOOR = 15 };

/* A quantized result, and by how much its error exceeds that of the one before. */
typedef struct loss {
    const cfx_quant_row *row;
    double error;
} loss;

/* Find the results that add most error, `n` at most. */
static size_t find_worst(const cfx_quant_report *report, loss *worst, size_t n)
{
    size_t found = 0;
    double before = 0;
    for (size_t i = 0; i < report->n; i++) {
        const cfx_quant_row *row = &report->row[i];
        bool is_result = row->kind == CFX_QUANT_VALUE ||
                         row->kind == CFX_QUANT_SHARED;
        const loss new = {row, row->error - before};
        if (!is_result || isnan(row->error))
            continue;
        before = row->error;
        if (!(new.error > 0))
            continue;
        size_t at = found < n ? found++ : n - 1;
        if (at == n - 1 && worst[at].row && worst[at].error >= new.error)
            continue;
        for (; at > 0 && worst[at - 1].error < new.error; at--)
            worst[at] = worst[at - 1];
        worst[at] = new;
    }
    return found;
}

/* One configuration may serve several models. */
static void warn_of_config(const struct job *j)
{
    cfx_error why = {0};
    char line[CFX_ERROR_TEXT + 64];
    if (!j->config || !cfx_quantizer_config_check(j->config, &why))
        return;
    cfx_fail_at(&why, "%s", j->o->config);
    snprintf(line, sizeof(line), "warning: %s", why.text);
    cli_print_line(line);
}

static void warn_of_loss(const cfx_quant_report *report)
{
    loss worst[3] = {{NULL, 0}};
    char names[256] = "", line[512];
    size_t len = 0, n;
    if (!report->has_snr || report->snr >= FLOOR)
        return;
    n = find_worst(report, worst, 3);
    for (size_t i = 0; i < n && len < sizeof(names); i++)
        len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s",
                                i ? ", " : "", worst[i].row->node);
    snprintf(
        line, sizeof(line),
        "warning: the outputs have a signal-to-noise ratio of %.1f dB%s%s: --min-snr %d keeps in float what it takes",
        report->snr, n ? "; most is lost at " : "", names, FLOOR);
    cli_print_line(line);
}

static cfx_status run_job(struct job *j, const char *path, cfx_error *err)
{
    FILE *to = j->c->g.output || only_ranks(j) ? stdout : stderr;
    cfx_status st = cli_load(j->c, &j->gm, path, true, err);
    if (st)
        return st;
    st = rewrite(j, err);
    if (st) {
        cli_fail_model(j->c, err, path, true);
        return st;
    }
    if (!only_ranks(j))
        st = write_model(j, err);
    if (!st && j->o->sensitivity)
        print_ranking(to, &j->patterns);
    if (!st && !j->o->quiet && !only_ranks(j))
        print_table(to, &j->report);
    if (!st)
        warn_of_config(j);
    if (!st)
        warn_of_loss(&j->report);
    return st;
}

/* The class that the options name; NULL: they name none. */
static const cfx_quantizer_class *class_of(const struct quantize_options *o)
{
    char name[64];
    if (o->dynamic)
        return &cfx_quantizer_dynamic;
    if (!o->weights_only)
        return o->quantizer ? cfx_find_quantizer(o->quantizer)
                            : &cfx_quantizer_x86;
    if (!strcmp(o->weights_only, "int8"))
        return &cfx_quantizer_weights;
    snprintf(name, sizeof(name), "weights_%s%s_g%d", o->weights_only,
             o->asymmetric ? "_asymmetric" : "", o->group ? o->group : 32);
    return cfx_find_quantizer(name);
}

/* NULL, or what is wrong with the options together. */
static const char *check_options(const struct quantize_options *o)
{
    int choices = (o->quantizer != NULL) + (o->config != NULL) +
                  (o->weights_only != NULL) + o->dynamic;
    bool is_int4 = o->weights_only && !strcmp(o->weights_only, "int4");
    if (choices > 1)
        return "--quantizer, --config, --dynamic and --weights-only choose quantizers: give one of them";
    if (o->weights_only && !is_int4 && strcmp(o->weights_only, "int8"))
        return "--weights-only has to be int8 or int4";
    if (o->group && !is_int4)
        return "--group is for --weights-only int4";
    if (o->asymmetric && !is_int4)
        return "--asymmetric is for --weights-only int4";
    if (is_int4 && !class_of(o))
        return "--group has to be 32, 64 or 128";
    const cfx_quantizer_class *by = class_of(o);
    bool x86 = !o->config &&
               (by == &cfx_quantizer_x86 || by == &cfx_quantizer_x86_all);
    double least;
    if (o->observer && !cfx_find_activations(o->observer))
        return "--observer has to be HistogramObserver, MinMaxObserver, MovingAverageMinMaxObserver, PercentileObserver or EntropyObserver";
    if (o->observer && !x86 && !o->config)
        return "--observer is for the quantizers x86 and x86_all";
    if (o->min_snr && !cli_read_decibels(o->min_snr, &least))
        return "--min-snr takes a number of decibels";
    if (o->min_snr && o->gptq)
        return "--min-snr measures weights that are rounded to nearest, --gptq rounds them otherwise: give one of them";
    if (o->min_snr && o->keep_float)
        return "--min-snr and --keep-float choose what stays float: give one of them";
    if ((o->sensitivity || keeps_float(o) || o->gptq || o->correct_bias ||
         o->smooth || x86) &&
        !o->calibrate.n)
        return "--calibrate FILE is missing: data to calibrate with";
    return NULL;
}

static int run(cli *c, const void *opts, int nargs, char **args)
{
    const struct quantize_options *o = opts;
    const cfx_quantizer_class *by = class_of(o);
    const char *wrong = check_options(o);
    struct job j = {.c = c, .o = o};
    cfx_error err = {0};

    (void)nargs;
    if (wrong)
        return cli_usage(c, "%s", wrong);
    if (!by)
        return cli_usage(c, "there is no quantizer '%s'", o->quantizer);
    cfx_quantizer_init(&j.q, by);
    cfx_status st = CFX_OK;
    if (o->config)
        st = cfx_quantizer_config_read(&j.config, c->ctx, o->config, &err);
    if (!st)
        st = run_job(&j, args[0], &err);
    cfx_quant_report_release(&j.report, c->ctx);
    cfx_quant_patterns_release(&j.patterns, c->ctx);
    cli_batches_release(&j.batches);
    cfx_quantizer_config_free(j.config);
    cfx_module_unref(j.gm);
    return st ? cli_fail(&err) : CLI_OK;
}

const cli_command cli_command_quantize = {
    .name = "quantize",
    .args = "MODEL",
    .summary = "Quantize a model",
    .details =
        "The result is a reference graph: float operators between torch.ops.quantized_decomposed's quantize and dequantize, and weights in int8, written to the file of -o and the .safetensors file beside it; without -o only the text is printed. The table has a row for each quantized tensor, with its scale and the error that it has in the first batch, and for each node that stays float, with the reason.",
    .options = options,
    .size = sizeof(struct quantize_options),
    .min_args = 1,
    .max_args = 1,
    .own_output = true,
    .run = run,
};
