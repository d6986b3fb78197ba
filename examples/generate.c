/*
 * generate -- continue a text, as token ids, with a causal language model.
 *
 *     generate [-n TOKENS] [-e END] [-t TEMPERATURE] [-k TOP_K] [-r SEED] MODEL <IDS
 *
 * MODEL takes ids i64[1, n] and their positions i64[n], returns logits
 * [1, n, vocabulary], and keeps the keys and values of earlier tokens in its
 * buffers (doc/decoding.md exports such a model). Prints the ids that it reads
 * and up to TOKENS more, the last one END. Each is the likeliest token; with -t,
 * one of the TOP_K likeliest, at random.
 */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include <cfx.h>

enum { CONTEXT = 1 << 17 };

static int new_tokens = 64, end = -1, top_k = 40, seed;
static double temperature;

/* Choose a token by the logits of the last position. */
static cfx_value choose(cfx_scope *s, cfx_value logits)
{
    cfx_value last = cfx_select(s, logits, cfx_int(1), cfx_int(-1));
    if (temperature <= 0)
        return cfx_argmax(s, last);
    last = cfx_div(s, last, cfx_float(temperature));
    cfx_value top = cfx_topk(s, last, cfx_int(top_k));
    cfx_value p = cfx_softmax(s, cfx_nth(s, top, 0), cfx_int(-1));
    return cfx_gather(s, cfx_nth(s, top, 1), cfx_int(-1),
                      cfx_multinomial(s, p, cfx_int(1)));
}

/* Run the model on the n ids from `at`, and store the next one behind them. */
static cfx_status step(cfx_interp *model, int64_t *id, int at, int n,
                       cfx_error *err)
{
    cfx_context *ctx = cfx_module_context(model->module);
    cfx_value in[2], logits = CFX_NOTHING;
    cfx_tensor *ids;
    cfx_scope s;
    cfx_status st = cfx_tensor_from(&ids, ctx, CFX_I64, 2, (int64_t[]){1, n},
                                    NULL, id + at, (size_t)n * sizeof(*id),
                                    NULL, NULL, err);
    if (st)
        return st;
    cfx_scope_init(&s, &cfx_eager_class, ctx, NULL);
    in[0] = cfx_scope_take(&s, cfx_value_of_tensor(ids));
    in[1] = cfx_arange(&s, .start = cfx_int(at), .end = cfx_int(at + n));
    st = cfx_interp_run(model, in, 2, &logits, err);
    if (!st) {
        cfx_value next = choose(&s, cfx_scope_take(&s, logits));
        id[at + n] = cfx_item(&s, next).u.i;
        st = cfx_scope_status(&s, err);
    }
    cfx_scope_release(&s);
    return st;
}

static void print_id(const int64_t *id, int i)
{
    printf(i ? " %" PRId64 : "%" PRId64, id[i]);
    fflush(stdout);
}

static bool read_options(int argc, char **argv)
{
    for (int c; (c = getopt(argc, argv, "n:e:t:k:r:")) != -1;)
        switch (c) {
        case 'n': new_tokens = atoi(optarg); break;
        case 'e': end = atoi(optarg); break;
        case 't': temperature = atof(optarg); break;
        case 'k': top_k = atoi(optarg); break;
        case 'r': seed = atoi(optarg); break;
        default: return false;
        }
    return optind == argc - 1;
}

int main(int argc, char **argv)
{
    static int64_t id[CONTEXT];
    cfx_error err = {0};
    cfx_context *ctx = NULL;
    cfx_module *gm = NULL;
    cfx_interp model = {0};
    int n = 0, at = 0;

    if (!read_options(argc, argv)) {
        fputs(
            "usage: generate [-n TOKENS] [-e END] [-t TEMPERATURE] [-k TOP_K] "
            "[-r SEED] MODEL <IDS\n",
            stderr);
        return 2;
    }
    while (n < CONTEXT && scanf("%" SCNd64, &id[n]) == 1)
        n++;
    if (!n || !feof(stdin)) {
        fputs("generate: expected token ids on the standard input\n", stderr);
        return 1;
    }
    for (int i = 0; i < n; i++)
        print_id(id, i);
    cfx_options how = {.size = sizeof(how), .seed = (uint64_t)seed};
    int failed = cfx_context_new(&ctx, &how, &err) ||
                 cfx_model_load(&gm, ctx, argv[optind], NULL, &err) ||
                 cfx_interp_init(&model, &cfx_interp_base, gm, &err);
    for (int to = n + new_tokens; !failed && n < to && n < CONTEXT; at = n++) {
        failed = step(&model, id, at, n - at, &err);
        if (!failed)
            print_id(id, n);
        if (id[n] == end)
            break;
    }
    puts("");
    if (failed)
        fprintf(stderr, "generate: %s\n", err.text);
    cfx_interp_release(&model);
    cfx_module_unref(gm);
    cfx_context_free(ctx);
    return failed != 0;
}
