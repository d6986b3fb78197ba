/*
 * cfx machine -- what this machine, or another, can do at most.
 */
#include <cfx/machine.h>

#include <string.h>

#include "cli.h"

struct machine_options {
    const char *machine, *format;
    bool again, keep;
    double seconds;
};

static const cli_option options[] = {
    {CLI_TEXT, 'm', "machine", "FILE",
     "show the machine that this file describes, or one that comes with cfx "
     "(raspberry-pi-5)",
     offsetof(struct machine_options, machine)},
    {CLI_FLAG, 0, "measure-again", NULL,
     "measure, though there is a result of before",
     offsetof(struct machine_options, again)},
    {CLI_FLAG, 0, "keep-doubtful", NULL,
     "measure once, and keep the result even if it contradicts itself",
     offsetof(struct machine_options, keep)},
    {CLI_SECONDS, 0, "seconds", "SECONDS",
     "take about so long to measure (default: 8)",
     offsetof(struct machine_options, seconds)},
    {CLI_TEXT, 'f', "format", "FORMAT", "text (default) or json",
     offsetof(struct machine_options, format)},
    {0},
};

/* ---- Text ---- */

enum { CELL = 16 };

/* "1.5 MiB", into a cell. */
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

/* A rate in 10^9, or what is not known. */
static void print_rate(FILE *to, double rate)
{
    if (rate > 0)
        fprintf(to, rate < 1e11 ? " %9.1f" : " %9.0f", rate / 1e9);
    else
        fprintf(to, " %9s", "-");
}

/* The last cell of a row. */
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

/* Is any peak of the type known? */
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

static bool measured(const cfx_machine *m)
{
    bool any = false;

    for (int i = 0; i < m->nrates; i++) {
        any |= largest_spread(&m->rates[i]) > 0;
        for (int k = 0; k < m->rates[i].nlevels; k++)
            any |= m->rates[i].level[k].spread > 0;
    }
    return any;
}

/* A row for each number of threads, a column for each type. */
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

/* A row for each level, of each number of threads. */
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
    bool spread = measured(m);

    print_head(to, m);
    print_peaks(to, m, spread);
    print_levels(to, m, spread);
}

/* ---- The command ---- */

static int run(cli *c, const void *opts, int nargs, char **args)
{
    const struct machine_options *o = opts;
    bool json = o->format && !strcmp(o->format, "json");
    cfx_error err = {0};
    cfx_machine *m;
    cfx_status rc;

    (void)nargs;
    (void)args;
    if (o->format && !json && strcmp(o->format, "text"))
        return cli_usage(c, "'%s' is no FORMAT", o->format);
    unsigned how = (o->again ? CFX_MACHINE_AGAIN : 0) |
                   (o->keep ? CFX_MACHINE_KEEP_DOUBTFUL : 0);
    if (o->machine && (how || o->seconds > 0))
        return cli_usage(c, "nothing is measured of another --machine");
    rc = o->machine ? cfx_machine_find(&m, c->ctx, o->machine, &err)
                    : cfx_machine_cached(&m, c->ctx, how, o->seconds, &err);
    if (rc)
        return cli_fail(&err);
    if (json)
        rc = cfx_print_machine(cfx_sink_file(c->out), m, &err);
    else
        print_text(c->out, m);
    cfx_machine_free(m);
    return rc ? cli_fail(&err) : CLI_OK;
}

const cli_command cli_command_machine = {
    .name = "machine",
    .args = "",
    .summary = "Measure what this machine can do at most, or tell of another",
    .details =
        "A row is for a number of threads, all of them together. Peaks are in "
        "10^9 operations per second, a multiply-add being two; bandwidths in "
        "10^9 bytes per second. The spread is how far the median of the "
        "repeats is below the best, which is shown. This machine is measured "
        "once; the result is kept in $XDG_CACHE_HOME/cfx or ~/.cache/cfx. One "
        "that contradicts itself (a level faster than the one before it, "
        "memory written faster than it is read or copied, repeats far apart) "
        "is measured again, and not kept if that does not help.",
    .options = options,
    .size = sizeof(struct machine_options),
    .min_args = 0,
    .max_args = 0,
    .run = run,
};
