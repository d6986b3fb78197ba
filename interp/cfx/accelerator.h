/*
 * cfx/accelerator.h -- spread a graph over devices of limited memory.
 *
 *     const cfx_device devices[] = {
 *         {"dev_0", 1 << 20, 0}, {"dev_1", 1 << 20, 1},
 *     };
 *     cfx_place_options o = {
 *         .size = sizeof(o), .mode = CFX_SIZE_BASED,
 *         .inputs = inputs, .ninputs = 1,
 *     };
 *     cfx_placement p = {0};
 *     cfx_place_on_devices(&p, gm, devices, 2, &o, &err);
 *     cfx_print_placement(cfx_sink_file(stdout), &p, &err);
 *     cfx_placement_release(&p);
 *
 *     submod_0: devices [1], 112 bytes, (a, b) -> (submod_0)
 *     submod_1: devices [0], 48 bytes, (submod_0) -> (submod_1)
 *
 * It is torch's accelerator_partitioner: a graph that fits into the largest
 * device is one part; others are cut into parts, each of which gets devices.
 * Nothing is run: sizes come from shapes, and latencies are told.
 */
#ifndef CFX_ACCELERATOR_H
#define CFX_ACCELERATOR_H

#include <cfx/graph_module.h>
#include <cfx/text.h>

typedef struct cfx_device {
    const char *name;
    uint64_t memory;         /* bytes that are free */
    int64_t id;              /* logical; two devices have two */
} cfx_device;

/* ---- What nodes weigh ---- */

/* Bytes of a node: its value, and that with the parameters and buffers of the
 * module that it calls. */
typedef struct cfx_node_size {
    uint64_t output, total;
} cfx_node_size;

/* Seconds that a call takes: for its memory traffic, and for its arithmetic,
 * which go on at the same time. */
typedef struct cfx_node_latency {
    double memory, compute;
} cfx_node_latency;

/* The critical path of a part: the sums along it, and that of the greater of
 * the two of each call, by which it was chosen. */
typedef struct cfx_part_latency {
    double memory, compute, overall;
} cfx_part_latency;

CFX_BEGIN_DECLS

/*
 * The sizes of all nodes, by id: `size` has room for cfx_graph_ids(). They are
 * those of a walk over metas of the inputs, whose shapes are known; without
 * inputs they are what the nodes' meta says (val, tensor_meta). Values that are
 * no tensors take no room. Each tensor counts in its own type, and buffers
 * count too (torch takes parameters for elements of the output's type, and
 * leaves buffers out). Fails with CFX_EINVAL for what has no known shape, and
 * as a run does.
 */
CFX_API cfx_status cfx_node_sizes(cfx_node_size *size, cfx_module *gm,
                                  const cfx_value *inputs, size_t ninputs,
                                  cfx_error *err);

/*
 * What n calls of gm's graph need on one device: their totals, the
 * placeholders and get_attr nodes that they take, each once, and the values
 * that they take of other calls, once for each that takes them, as torch
 * counts. Nodes that are no calls are ignored. Fails with CFX_ENOMEM.
 */
CFX_API cfx_status cfx_bytes_of_part(uint64_t *bytes, const cfx_module *gm,
                                     cfx_node *const *nodes, size_t n,
                                     const cfx_node_size *size,
                                     cfx_error *err);

/* ---- Parts and their devices ---- */

typedef enum cfx_place_mode {
    /* Fill device after device in the order of the graph; when none is left,
     * each call is a part, and goes where just enough room is. Takes time that
     * grows with edges times devices. */
    CFX_SIZE_BASED,
    /* Embeddings and the rest are kept apart, and small parts joined; each part
     * of embeddings gets a device, the rest goes to all of those. All devices
     * must have the same memory. Time grows with parts squared times edges. */
    CFX_SPARSE_NN,
    /* Each call is a part at first; then the two that give the lowest latency
     * are joined, until none lowers it. All pairs are tried each time: for some
     * hundred calls at most. */
    CFX_COST_AWARE,
    /* As CFX_SIZE_BASED, then each call in turn goes to another part, in
     * exchange for one of its calls or none, as lowers the latency most. All
     * pairs are tried. (torch compares with the last cost that it tried, not
     * the lowest, and then splits as if nothing had changed.) */
    CFX_KL_BASED,
    /* As `part_of` and `part_devices` say. */
    CFX_AOT_BASED
} cfx_place_mode;

/* The devices of one part, by their ids. */
typedef struct cfx_part_devices {
    int64_t part;
    const int64_t *id;
    size_t n;
} cfx_part_devices;

/* Zeroed for the defaults. Arrays by node id have cfx_graph_ids() items. */
typedef struct cfx_place_options {
    size_t size;                 /* sizeof(cfx_place_options) */
    cfx_place_mode mode;
    const cfx_node_size *sizes;  /* by node id; NULL: cfx_node_sizes of */
    const cfx_value *inputs;     /* these inputs, or of what the meta says */
    size_t ninputs;
    const cfx_node_latency *latency; /* by node id; none is negative */
    double transfer_rate;        /* bytes a second between devices */
    const int64_t *part_of;      /* by node id */
    const cfx_part_devices *part_devices;
    size_t npart_devices;
    /* Give idle devices what the used ones have, as often as all of it finds
     * room: data can then take several ways. */
    bool saturate_host;
} cfx_place_options;

/* A part, and its place in the graph of parts. */
typedef struct cfx_placed {
    int64_t part;                /* it is the child submod_PART */
    cfx_node **node;             /* its calls, in the order of gm's graph */
    size_t n;
    int64_t *device;             /* ids */
    size_t ndevices;
    uint64_t bytes;              /* as cfx_bytes_of_part; of one part: all */
    cfx_part_latency latency;    /* where the options have latencies */
    cfx_node *call;              /* of the new graph */
    cfx_node **input, **output;  /* of it: what it takes; itself, or the
                                    getitem nodes that take its results apart */
    size_t ninputs, noutputs;
} cfx_placed;

typedef struct cfx_placement {
    cfx_context *ctx;
    cfx_module *gm;              /* new: calls the parts; owned */
    cfx_placed *item;            /* in the order in which they are called */
    size_t n;
    /* Of the critical path of parts: with the bytes that go from one to the
     * next over transfer_rate, where they are not on the same devices. 0
     * without latencies and a rate. */
    double latency;
    void *memory;                /* private */
} cfx_placement;

/*
 * Find parts and devices, and split gm (which stays as it is) by
 * cfx_split_module. Fails in torch's words with CFX_EINVAL ("No devices",
 * "Devices do not have enough memory for the module", "All devices must have
 * same memory size!", "linear is too large to fit any device", ...), for
 * lack of latencies or of a rate where the mode asks for them, with
 * CFX_ECANCEL and CFX_ELIMIT in the modes that try pairs, as cfx_node_sizes,
 * and as cfx_split_module.
 *
 * Where nothing is an embedding, CFX_SPARSE_NN puts parts where just enough
 * room is (torch fails); embeddings are modules that are one or have one, and
 * functions of that name (torch: modules within anything that has one). A
 * result of CFX_COST_AWARE that finds no devices is an error (torch says
 * nothing).
 */
CFX_API cfx_status cfx_place_on_devices(cfx_placement *out, cfx_module *gm,
                                        const cfx_device *devices,
                                        size_t ndevices,
                                        const cfx_place_options *options,
                                        cfx_error *err);
/* A zeroed one is allowed. */
CFX_API void cfx_placement_release(cfx_placement *p);

/* One line a part, as above. */
CFX_API cfx_status cfx_print_placement(cfx_sink to, const cfx_placement *p,
                                       cfx_error *err);

CFX_END_DECLS

#endif
