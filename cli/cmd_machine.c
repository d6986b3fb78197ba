/*
 * cfx machine -- show the peak performance of this or another machine.
 */
#include <cfx/machine.h>

#include <string.h>

#include "cli.h"

struct machine_options {
    const char *machine;
    bool again, keep, json;
    double seconds;
};

static const cli_option options[] = {
    {CLI_TEXT, 'm', "machine", "FILE",
     "show the machine that this file describes, or one that comes with cfx (raspberry-pi-5)",
     offsetof(struct machine_options, machine)},
    {CLI_FLAG, 0, "measure-again", NULL,
     "measure even if there is a stored result",
     offsetof(struct machine_options, again)},
    {CLI_FLAG, 0, "keep-doubtful", NULL,
     "measure once, and store the result even if it is doubtful",
     offsetof(struct machine_options, keep)},
    {CLI_SECONDS, 0, "seconds", "SECONDS",
     "measure for about so long (default: 8)",
     offsetof(struct machine_options, seconds)},
    {CLI_JSON, 'f', "format", "FORMAT", "text (default) or json",
     offsetof(struct machine_options, json)},
    {0},
};

/* ---- Text ---- */

enum { CELL = 16 };

/* Format "1.5 MiB" into a cell. */
static void print_size(char cell[CELL], int64_t bytes)
{
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double x = (double)bytes;
    int i = 0;

    for (; x >= 1024 && i < 4; i++)
        x /= 1024;
    if (bytes)
        snprintf(cell, CELL, "%.4g %s", x, unit[i]);
    else
        strcpy(cell, "-");
}

/* Print a rate in 10^9, or that it is unknown. */
static void print_rate(FILE *to, double rate)
{
    if (rate > 0)
        fprintf(to, rate < 1e11 ? " %9.1f" : " %9.0f", rate / 1e9);
    else
        fprintf(to, " %9s", "-");
}

/* Print the last cell of a row. */
static void print_spread(FILE *to, bool any, double spread)
{
    if (any)
        fprintf(to, " %7.1f%%", spread * 100);
    fputc('\n', to);
}

static void print_head(FILE *to, const cfx_machine *m)
{
    fprintf(to, "%s, %d core%s", m->name, m->cores, m->cores > 1 ? "s" : "");
    if (m->instructions)
        fprintf(to, ", %s", m->instructions);
    fputc('\n', to);
    if (m->comment)
        cli_wrap(to, m->comment, 0, 0);
}

/* True if any peak of the type is known. */
static bool any_peak(const cfx_machine *m, int type)
{
    bool any = false;

    for (int i = 0; i < m->nrates; i++)
        any |= m->rates[i].peak[type] > 0;
    return any;
}

static double largest_spread(const cfx_machine_rates *r)
{
    double most = 0;

    for (int t = 0; t < CFX_MACHINE_TYPES; t++)
        most = r->peak_spread[t] > most ? r->peak_spread[t] : most;
    return most;
}

/* One row per number of threads, one column per type. */
static void print_peaks(FILE *to, const cfx_machine *m, bool spread)
{
    fprintf(to, "\nGFLOP/s");
    for (int t = 0; t < CFX_MACHINE_TYPES; t++) {
        if (any_peak(m, t))
            fprintf(to, " %9s", cfx_machine_type_name((cfx_machine_type)t));
    }
    fprintf(to, spread ? "   spread\n" : "\n");
    for (int i = 0; i < m->nrates; i++) {
        const cfx_machine_rates *r = &m->rates[i];
        fprintf(to, "%7d", r->threads);
        for (int t = 0; t < CFX_MACHINE_TYPES; t++) {
            if (any_peak(m, t))
                print_rate(to, r->peak[t]);
        }
        print_spread(to, spread, largest_spread(r));
    }
}

/* One row per level and number of threads. */
static void print_levels(FILE *to, const cfx_machine *m, bool spread)
{
    char size[CELL];

    fprintf(to, "\n%7s %-8s %10s", "GB/s", "", "size");
    for (int j = 0; j < CFX_MACHINE_KERNELS; j++)
        fprintf(to, " %9s", cfx_machine_kernel_name((cfx_machine_kernel)j));
    fprintf(to, spread ? "   spread\n" : "\n");
    for (int i = 0; i < m->nrates; i++) {
        const cfx_machine_rates *r = &m->rates[i];
        for (int k = 0; k < r->nlevels; k++) {
            const cfx_machine_level *l = &r->level[k];
            print_size(size, l->bytes);
            fprintf(to, "%7d %-8s %10s", r->threads, l->name, size);
            for (int j = 0; j < CFX_MACHINE_KERNELS; j++)
                print_rate(to, l->rate[j]);
            print_spread(to, spread, l->spread);
        }
    }
}

static void print_text(FILE *to, const cfx_machine *m)
{
    bool spread = m->instructions != NULL; /* it was measured */

    print_head(to, m);
    print_peaks(to, m, spread);
    print_levels(to, m, spread);
}

/* ---- The command ---- */

static int run(cli *c, const void *opts, int nargs, char **args)
{
    const struct machine_options *o = opts;
    cfx_error err = {0};
    cfx_machine *m;
    cfx_status st;

    (void)nargs;
    (void)args;
    unsigned how = (o->again ? CFX_MACHINE_AGAIN : 0) |
                   (o->keep ? CFX_MACHINE_KEEP_DOUBTFUL : 0);
    if (o->machine && (how || o->seconds > 0))
        return cli_usage(c, "--machine excludes options for measuring");
    st = o->machine ? cfx_machine_find(&m, c->ctx, o->machine, &err)
                    : cfx_machine_cached(&m, c->ctx, how, o->seconds, &err);
    if (st)
        return cli_fail(&err);
    if (o->json)
        st = cfx_print_machine(cfx_sink_file(c->out), m, &err);
    else
        print_text(c->out, m);
    cfx_machine_free(m);
    return st ? cli_fail(&err) : CLI_OK;
}

const cli_command cli_command_machine = {
    .name = "machine",
    .args = "",
    .summary = "Print the peak performance of this or another machine",
    .details =
        "Each row is for a number of threads together. Peaks are in 10^9 operations per second, where a multiply-add counts as two, bandwidths in 10^9 bytes per second. Rates are the best of many repeats; the spread is the distance of their median from the best. This machine is measured once; the result is stored in $XDG_CACHE_HOME/cfx or ~/.cache/cfx. A doubtful result (a level faster than the one before it, memory written faster than it is read or copied, repeats far apart) is measured again, and not stored if it stays doubtful.",
    .options = options,
    .size = sizeof(struct machine_options),
    .min_args = 0,
    .max_args = 0,
    .run = run,
};
