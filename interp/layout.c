/*
 * layout -- what follows from which part each call is of: bytes, devices,
 * the graph of parts, latencies. Each step takes time linear in the edges of
 * the graph, but for devices: edges times devices; and what two parts that
 * exchange something take of the same sources.
 */
#include "interp/placing.h"

/* ---- Making ---- */

static bool is_source(const cfx_node *n)
{
    return n->op == CFX_PLACEHOLDER || n->op == CFX_GET_ATTR;
}

static cfx_status number_items(placing *s, uint32_t *item)
{
    uint32_t ncalls = 0, nitems = 0;
    for (const cfx_node *n = cfx_graph_first(s->g); n; n = cfx_node_next(n)) {
        ncalls += !is_source(n) && n->op != CFX_OUTPUT;
        nitems += n->op != CFX_OUTPUT;
    }
    s->node = cfx_carve__scratch(&s->arena, nitems, sizeof(*s->node), s->err);
    if (!s->node)
        return s->err->code;
    s->nitems = ncalls;
    for (cfx_node *n = cfx_graph_first(s->g); n; n = cfx_node_next(n)) {
        if (n->op == CFX_OUTPUT)
            continue;
        uint32_t i = is_source(n) ? s->nitems++ : s->ncalls++;
        item[n->id] = i;
        s->node[i] = n;
    }
    return CFX_OK;
}

static void list_inputs(placing *s, const uint32_t *item)
{
    uint32_t n = 0;
    for (uint32_t c = 0; c < s->ncalls; c++) {
        s->first[c] = n;
        for (uint32_t k = 0; k < s->node[c]->ninputs; k++)
            s->input[n++] = item[cfx_node_input(s->node[c], k)->id];
    }
    s->first[s->ncalls] = n;
}

/* Sums of sizes must not overflow, however the parts are cut. */
static cfx_status take_sizes(placing *s, const cfx_node_size *size)
{
    uint64_t sum = 0, most = INT64_MAX / 4;
    for (uint32_t i = 0; i < s->nitems; i++) {
        const cfx_node_size *z = &size[s->node[i]->id];
        uint64_t uses = (uint64_t)s->node[i]->nusers + 1;
        if (z->total > most || z->output > most / uses ||
            (sum += z->total + z->output * uses) > most)
            return cfx_fail(s->err, CFX_EINVAL, "the sizes of nodes are too "
                            "large");
        s->output[i] = (int64_t)z->output;
        s->total[i] = (int64_t)z->total;
    }
    return CFX_OK;
}

static void take_latencies(placing *s)
{
    for (uint32_t c = 0; c < s->ncalls; c++)
        s->time[c] = s->o.latency[s->node[c]->id];
}

cfx_status cfx_placing__init(placing *s, const cfx_node_size *size)
{
    cfx_arena *a = &s->arena;
    size_t ninputs = 0;
    uint32_t *item = cfx_carve__scratch(a, cfx_graph_ids(s->g), sizeof(*item),
                                        s->err);
    if (!item || number_items(s, item))
        return s->err->code;
    for (uint32_t c = 0; c < s->ncalls; c++)
        ninputs += s->node[c]->ninputs;
    s->first = cfx_carve__scratch(a, s->ncalls, sizeof(*s->first), s->err);
    s->input = cfx_carve__scratch(a, ninputs, sizeof(*s->input), s->err);
    s->output = cfx_carve__scratch(a, s->nitems, sizeof(*s->output), s->err);
    s->total = cfx_carve__scratch(a, s->nitems, sizeof(*s->total), s->err);
    s->mark = cfx_carve__scratch(a, s->nitems, sizeof(*s->mark), s->err);
    s->source = cfx_carve__scratch(a, ninputs, sizeof(*s->source), s->err);
    if (!s->first || !s->input || !s->output || !s->total || !s->mark ||
        !s->source)
        return s->err->code;
    if (s->o.latency) {
        s->time = cfx_carve__scratch(a, s->ncalls, sizeof(*s->time), s->err);
        if (!s->time)
            return s->err->code;
        take_latencies(s);
    }
    list_inputs(s, item);
    return take_sizes(s, size);
}

cfx_status cfx_layout__init(placing *s, layout *l, uint32_t room)
{
    cfx_arena *a = &s->arena;
    size_t n = (size_t)room + 2;
    *l = (layout){.nparts = 1};
    l->part = cfx_carve__scratch(a, s->ncalls, sizeof(*l->part), s->err);
    l->call = cfx_carve__scratch(a, s->ncalls, sizeof(*l->call), s->err);
    l->start = cfx_carve__scratch(a, n, sizeof(*l->start), s->err);
    l->bytes = cfx_carve__scratch(a, n, sizeof(*l->bytes), s->err);
    l->device = cfx_carve__scratch(a, n, sizeof(*l->device), s->err);
    l->latency = cfx_carve__scratch(a, n, sizeof(*l->latency), s->err);
    l->level = cfx_carve__scratch(a, n, sizeof(*l->level), s->err);
    l->edge = cfx_carve__scratch(a, s->first[s->ncalls], sizeof(*l->edge),
                                 s->err);
    if (!l->part || !l->call || !l->start || !l->bytes || !l->device ||
        !l->latency || !l->level || !l->edge)
        return s->err->code;
    memset(l->device, 0xff, n * sizeof(*l->device));
    return CFX_OK;
}

cfx_status cfx_layout__scratch(placing *s, uint32_t room)
{
    cfx_arena *a = &s->arena;
    size_t n = (size_t)room + 2, m = s->first[s->ncalls];
    s->source_start = cfx_carve__scratch(a, n, sizeof(*s->source_start),
                                         s->err);
    s->edge_to = cfx_carve__scratch(a, n, sizeof(*s->edge_to), s->err);
    s->edge_start = cfx_carve__scratch(a, n, sizeof(*s->edge_start), s->err);
    s->edge_from = cfx_carve__scratch(a, m, sizeof(*s->edge_from), s->err);
    s->by_from = cfx_carve__scratch(a, m, sizeof(*s->by_from), s->err);
    s->wait = cfx_carve__scratch(a, n, sizeof(*s->wait), s->err);
    s->turn = cfx_carve__scratch(a, n, sizeof(*s->turn), s->err);
    s->path = cfx_carve__scratch(a, n, sizeof(*s->path), s->err);
    s->along = cfx_carve__scratch(a, s->ncalls, sizeof(*s->along), s->err);
    s->left = cfx_carve__scratch(a, s->ndevices, sizeof(*s->left), s->err);
    s->rank = cfx_carve__scratch(a, s->ndevices, sizeof(*s->rank), s->err);
    if (!s->source_start || !s->edge_to || !s->edge_start || !s->edge_from ||
        !s->by_from || !s->wait || !s->turn || !s->path || !s->along ||
        !s->left || !s->rank)
        return s->err->code;
    return CFX_OK;
}

/* ---- Bytes ---- */

/* The first time since the stamp changed? */
static bool first_time(placing *s, uint32_t item)
{
    bool first = s->mark[item] != s->stamp;
    s->mark[item] = s->stamp;
    return first;
}

/* Add the calls of part p, which is one with `other`; the sources that are new
 * are listed behind *n. */
static int64_t bytes_of(placing *s, const layout *l, uint32_t p,
                        uint32_t other, uint32_t *n)
{
    int64_t sum = 0;
    for (uint32_t i = l->start[p]; i < l->start[p + 1]; i++) {
        uint32_t c = l->call[i];
        sum += s->total[c];
        for (uint32_t k = s->first[c]; k < s->first[c + 1]; k++) {
            uint32_t in = s->input[k];
            if (in < s->ncalls) {
                if (l->part[in] != p && l->part[in] != other)
                    sum += s->output[in];
            } else if (first_time(s, in)) {
                sum += s->total[in];
                if (n)
                    s->source[(*n)++] = in;
            }
        }
    }
    return sum;
}

void cfx_layout__weigh(placing *s, layout *l)
{
    uint32_t n = 0;
    cfx_carve__bucket(s->ncalls, l->part, l->nparts, l->start, l->call);
    for (uint32_t p = 0; p < l->nparts; p++) {
        s->stamp++;
        s->source_start[p] = n;
        l->bytes[p] = bytes_of(s, l, p, p, &n);
    }
    s->source_start[l->nparts] = n;
}

int64_t cfx_layout__bytes(placing *s, const layout *l, uint32_t a, uint32_t b)
{
    s->stamp++;
    int64_t sum = bytes_of(s, l, a, b == NOWHERE ? a : b, NULL);
    return b == NOWHERE ? sum : sum + bytes_of(s, l, b, a, NULL);
}

/* ---- The graph of parts ---- */

/* What part p sends to part q. */
static void send(placing *s, layout *l, uint32_t p, uint32_t q, int64_t bytes)
{
    uint32_t e = s->edge_to[p];
    if (e >= l->nedges || l->edge[e].from != p || l->edge[e].to != q) {
        e = s->edge_to[p] = l->nedges++;
        l->edge[e] = (edge){.from = p, .to = q};
        s->edge_from[e] = p;
        s->wait[q]++;
    }
    l->edge[e].bytes += bytes;
}

/* Edges to part q. As torch has it, what both take of the same source is sent
 * too. */
static void find_edges(placing *s, layout *l, uint32_t q)
{
    uint32_t before = l->nedges;
    s->stamp++;
    for (uint32_t i = l->start[q]; i < l->start[q + 1]; i++) {
        uint32_t c = l->call[i];
        for (uint32_t k = s->first[c]; k < s->first[c + 1]; k++) {
            uint32_t in = s->input[k];
            if (first_time(s, in) && in < s->ncalls && l->part[in] != q &&
                l->part[in] != NOWHERE)
                send(s, l, l->part[in], q, s->output[in]);
        }
    }
    for (uint32_t e = before; e < l->nedges && s->time; e++) {
        uint32_t p = l->edge[e].from;
        for (uint32_t i = s->source_start[p]; i < s->source_start[p + 1]; i++)
            if (s->mark[s->source[i]] == s->stamp)
                l->edge[e].bytes += s->output[s->source[i]];
    }
}

/* Parts in an order in which they can run. */
static bool take_turns(placing *s, layout *l)
{
    uint32_t head = 0, tail = 0;
    cfx_carve__bucket(l->nedges, s->edge_from, l->nparts, s->edge_start,
                      s->by_from);
    for (uint32_t p = 0; p < l->nparts; p++) {
        l->level[p] = 0;
        if (!s->wait[p])
            s->turn[tail++] = p;
    }
    for (; head < tail; head++) {
        uint32_t p = s->turn[head];
        for (uint32_t i = s->edge_start[p]; i < s->edge_start[p + 1]; i++) {
            uint32_t q = l->edge[s->by_from[i]].to;
            if (l->level[q] <= l->level[p])
                l->level[q] = l->level[p] + 1;
            if (!--s->wait[q])
                s->turn[tail++] = q;
        }
    }
    return tail == l->nparts;
}

static void find_critical_paths(placing *s, layout *l)
{
    memset(l->latency, 0, l->nparts * sizeof(*l->latency));
    for (uint32_t c = 0; c < s->ncalls; c++) {
        uint32_t p = l->part[c];
        cfx_part_latency way = {0};
        cfx_node_latency t = s->time[c];
        if (p == NOWHERE)
            continue;
        for (uint32_t k = s->first[c]; k < s->first[c + 1]; k++) {
            uint32_t in = s->input[k];
            if (in < s->ncalls && l->part[in] == p &&
                s->along[in].overall > way.overall)
                way = s->along[in];
        }
        way.memory += t.memory;
        way.compute += t.compute;
        way.overall += t.memory > t.compute ? t.memory : t.compute;
        s->along[c] = way;
        if (way.overall > l->latency[p].overall)
            l->latency[p] = way;
    }
}

bool cfx_layout__connect(placing *s, layout *l)
{
    l->nedges = 0;
    memset(s->wait, 0, l->nparts * sizeof(*s->wait));
    for (uint32_t q = 0; q < l->nparts; q++)
        find_edges(s, l, q);
    if (s->time)
        find_critical_paths(s, l);
    return take_turns(s, l);
}

double cfx_layout__latency(placing *s, const layout *l)
{
    double longest = 0;
    memset(s->path, 0, l->nparts * sizeof(*s->path));
    for (uint32_t i = 0; i < l->nparts; i++) {
        uint32_t p = s->turn[i];
        double t = s->path[p] + l->latency[p].overall;
        longest = t > longest ? t : longest;
        for (uint32_t k = s->edge_start[p]; k < s->edge_start[p + 1]; k++) {
            const edge *e = &l->edge[s->by_from[k]];
            bool same = l->device[p] != NOWHERE &&
                        l->device[p] == l->device[e->to];
            double sent = same ? 0 : (double)e->bytes / s->o.transfer_rate;
            if (t + sent > s->path[e->to])
                s->path[e->to] = t + sent;
        }
    }
    return longest;
}

/* ---- Devices ---- */

void cfx_layout__forget_devices(layout *l)
{
    for (uint32_t p = 0; p < l->nparts; p++)
        l->device[p] = NOWHERE;
}

/* What part p needs on device d besides what is there. */
static int64_t extra_bytes(placing *s, const layout *l, uint32_t p, uint32_t d)
{
    int64_t bytes = l->bytes[p];
    for (uint32_t i = l->start[p]; i < l->start[p + 1]; i++) {
        uint32_t c = l->call[i];
        for (uint32_t k = s->first[c]; k < s->first[c + 1]; k++) {
            uint32_t in = s->input[k];
            if (in < s->ncalls && l->part[in] != p &&
                l->part[in] != NOWHERE && l->device[l->part[in]] == d)
                bytes -= s->output[in];
        }
    }
    return bytes;
}

/* At most one of them is not in its place, but for the first time. */
static void sort_devices(placing *s)
{
    for (uint32_t i = 1; i < s->ndevices; i++) {
        uint32_t d = s->rank[i], k = i;
        for (; k && s->left[s->rank[k - 1]] > s->left[d]; k--)
            s->rank[k] = s->rank[k - 1];
        s->rank[k] = d;
    }
}

static bool find_device(placing *s, layout *l, uint32_t p)
{
    for (uint32_t i = 0; i < s->ndevices; i++) {
        uint32_t d = s->rank[i];
        int64_t extra = extra_bytes(s, l, p, d);
        if (extra < s->left[d]) {
            s->left[d] -= extra;
            l->device[p] = d;
            return true;
        }
    }
    return false;
}

bool cfx_layout__find_devices(placing *s, layout *l)
{
    bool found = true;
    for (uint32_t d = 0; d < s->ndevices; d++) {
        uint64_t memory = s->device[d].memory;
        s->left[d] = memory > INT64_MAX ? INT64_MAX : (int64_t)memory;
        s->rank[d] = d;
    }
    for (uint32_t p = 0; p < l->nparts; p++)
        if (l->device[p] != NOWHERE)
            s->left[l->device[p]] -= l->bytes[p];
    for (uint32_t p = 0; p < l->nparts && found; p++) {
        if (l->device[p] != NOWHERE || cfx_layout__is_empty(l, p))
            continue;
        sort_devices(s);
        found = find_device(s, l, p);
    }
    return found;
}
