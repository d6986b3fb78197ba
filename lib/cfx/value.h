/*
 * cfx/value.h -- arguments and results of operators.
 *
 * A cfx_value is 16 bytes: a kind and a word. Numbers, types and nodes are in
 * the word; tensors, strings, tuples, lists, dicts, slices and complex numbers
 * are immutable, reference-counted objects. The zero value is `absent`: an
 * optional argument that was not given, which is not None.
 *
 * Values are passed by value and borrowed, as pointers are: cfx_value_ref
 * takes a reference, cfx_value_unref drops it; both do nothing for kinds that
 * are not counted. Objects inside a graph belong to the graph and are not
 * counted.
 */
#ifndef CFX_VALUE_H
#define CFX_VALUE_H

#include <math.h>

#include <cfx/tensor.h>

struct cfx_node;
struct cfx_module;

typedef enum cfx_kind {
    CFX_ABSENT = 0,
    CFX_NONE,
    CFX_BOOL_VALUE,
    CFX_INT,    /* an integer of 64 bits */
    CFX_SYMINT, /* an extent that is an expression */
    CFX_FLOAT,
    CFX_COMPLEX,
    CFX_STR,
    CFX_DTYPE,
    CFX_DEVICE, /* "cpu", "cuda:0": a string */
    CFX_MEMORY_FORMAT,
    CFX_LAYOUT, /* "torch.strided": a string */
    CFX_ELLIPSIS,
    CFX_SLICE,
    CFX_RANGE,
    CFX_TUPLE,
    CFX_LIST,
    CFX_DICT,
    CFX_TENSOR,
    CFX_NODE, /* of a graph being built or read */
    CFX_MODULE,
    CFX_NAME, /* an identifier of no other kind: a str */
    CFX_NKINDS
} cfx_kind;

/* Counted strings; `text` ends in NUL and may contain NULs. */
typedef struct cfx_string {
    int refs; /* 0: belongs to an arena, not counted */
    uint32_t len;
    cfx_context *ctx;
    char text[];
} cfx_string;

struct cfx_seq;

typedef struct cfx_value {
    uint8_t kind;
    uint8_t flags; /* private: how deeply an aggregate nests, if known */
    uint16_t pad;
    uint32_t aux; /* private */
    union {
        bool b;
        int64_t i;
        double f;
        cfx_dim dim;
        cfx_dtype dtype;
        cfx_memory_format format;
        cfx_string *str;
        struct cfx_seq *seq;
        cfx_tensor *tensor;
        struct cfx_node *node;
        struct cfx_module *module;
    } u;
} cfx_value;

/*
 * Tuples and lists have `len` items; so has a dict: alternating keys and
 * values. Slices and ranges have 3 (start, stop, step); complex numbers 2
 * floats. `type` describes a named tuple ("torch.return_types.topk", fields
 * "values indices"), else NULL.
 */
typedef struct cfx_named_tuple {
    const char *name, *fields;
} cfx_named_tuple;

typedef struct cfx_seq {
    int refs; /* 0: belongs to an arena, not counted */
    uint32_t len;
    cfx_context *ctx;
    const cfx_named_tuple *type;
    cfx_value item[];
} cfx_seq;

/*
 * The arguments of a call; borrowed. CFX_ARGS(x, y) are positional ones;
 * keywords follow as names and values in turn:
 *
 *     y = cfx_call_function(s, "torch.add", CFX_ARGS(x, x));
 *     cfx_value two = cfx_int(2), alpha = cfx_keyword(ctx, "alpha");
 *     y = cfx_call_function(s, "torch.add",
 *                           CFX_LITERAL(cfx_args){CFX_ITEMS(x, x),
 *                                                 CFX_PAIRS(alpha, two)});
 */
typedef struct cfx_args {
    const cfx_value *args; /* positional */
    size_t nargs;
    const cfx_value *kwargs; /* alternating keys and values */
    size_t nkwargs;          /* a key and its value count as one */
} cfx_args;

/* An array of values, and their number, which evaluates none. */
#ifdef __cplusplus
#include <initializer_list>
static inline const cfx_value *cfx_value_array(
    std::initializer_list<cfx_value> values)
{
    return values.begin();
}
template <typename... T> char (&cfx_value_count(T...))[sizeof...(T)];
#define CFX_VALUES_(...) cfx_value_array({__VA_ARGS__})
#define CFX_COUNT_(...) sizeof(cfx_value_count(__VA_ARGS__))
#else
#define CFX_VALUES_(...) ((cfx_value[]){__VA_ARGS__})
#define CFX_COUNT_(...)                                                       \
    (sizeof((cfx_value[]){__VA_ARGS__}) / sizeof(cfx_value))
#endif

CFX_BEGIN_DECLS

#define CFX_NO_ARGS CFX_ZERO(cfx_args)
/* Values, or alternating names and values, and their number. */
#define CFX_ITEMS(...) CFX_VALUES_(__VA_ARGS__), CFX_COUNT_(__VA_ARGS__)
#define CFX_PAIRS(...) CFX_VALUES_(__VA_ARGS__), CFX_COUNT_(__VA_ARGS__) / 2
#define CFX_ARGS(...) (CFX_LITERAL(cfx_args){CFX_ITEMS(__VA_ARGS__), NULL, 0})
/* An array of positional arguments. */
CFX_INLINE cfx_args cfx_args_of(const cfx_value *args, size_t nargs)
{
    cfx_args a = CFX_NO_ARGS;
    a.args = args;
    a.nargs = nargs;
    return a;
}

#define CFX_NOTHING CFX_ZERO(cfx_value)
/* A value of a kind without a payload. */
CFX_INLINE cfx_value cfx_value_of_kind(cfx_kind kind)
{
    cfx_value v = CFX_NOTHING;
    v.kind = (uint8_t)kind;
    return v;
}
CFX_INLINE cfx_value cfx_none(void)
{
    return cfx_value_of_kind(CFX_NONE);
}
CFX_INLINE cfx_value cfx_ellipsis(void)
{
    return cfx_value_of_kind(CFX_ELLIPSIS);
}
CFX_INLINE cfx_value cfx_bool(bool b)
{
    cfx_value v = cfx_value_of_kind(CFX_BOOL_VALUE);
    v.u.i = b;
    return v;
}
CFX_INLINE cfx_value cfx_int(int64_t i)
{
    cfx_value v = cfx_value_of_kind(CFX_INT);
    v.u.i = i;
    return v;
}
CFX_INLINE cfx_value cfx_float(double f)
{
    cfx_value v = cfx_value_of_kind(CFX_FLOAT);
    v.u.f = f;
    return v;
}
CFX_INLINE cfx_value cfx_value_of_dtype(cfx_dtype t)
{
    cfx_value v = cfx_value_of_kind(CFX_DTYPE);
    v.u.dtype = t;
    return v;
}
CFX_INLINE cfx_value cfx_value_of_format(cfx_memory_format f)
{
    cfx_value v = cfx_value_of_kind(CFX_MEMORY_FORMAT);
    v.u.format = f;
    return v;
}
/* A tensor as a borrowed value. */
CFX_INLINE cfx_value cfx_value_of_tensor(cfx_tensor *t)
{
    cfx_value v = cfx_value_of_kind(CFX_TENSOR);
    v.u.tensor = t;
    return v;
}
CFX_INLINE cfx_value cfx_value_of_node(struct cfx_node *n)
{
    cfx_value v = cfx_value_of_kind(CFX_NODE);
    v.u.node = n;
    return v;
}
CFX_INLINE cfx_value cfx_value_of_dim(cfx_dim d)
{
    cfx_value v = cfx_value_of_kind(CFX_SYMINT);
    v.u.dim = d;
    return cfx_dim_is_int(d) ? cfx_int(cfx_dim_value(d)) : v;
}

CFX_INLINE bool cfx_value_is_absent(cfx_value v)
{
    return !v.kind;
}
CFX_INLINE bool cfx_value_is_none(cfx_value v)
{
    return v.kind == CFX_NONE || v.kind == CFX_ABSENT;
}
CFX_INLINE bool cfx_value_is_seq(cfx_value v)
{
    return v.kind == CFX_TUPLE || v.kind == CFX_LIST;
}
/* The extent in an int, bool or symbolic int; else CFX_DIM_BAD. */
CFX_INLINE cfx_dim cfx_value_dim(cfx_value v)
{
    return v.kind == CFX_INT || v.kind == CFX_BOOL_VALUE ? cfx_dim_int(v.u.i)
           : v.kind == CFX_SYMINT                        ? v.u.dim
                                                         : CFX_DIM_BAD;
}
/* A bool, int or float as a double; NaN for any other kind. */
CFX_INLINE double cfx_value_number(cfx_value v)
{
    return v.kind == CFX_FLOAT                             ? v.u.f
           : v.kind == CFX_INT || v.kind == CFX_BOOL_VALUE ? (double)v.u.i
                                                           : (double)NAN;
}

/* Both parts of a complex number as doubles; the second is 0 for other kinds. */
CFX_INLINE void cfx_value_parts(cfx_value v, double part[2])
{
    bool complex = v.kind == CFX_COMPLEX;
    part[0] = cfx_value_number(complex ? v.u.seq->item[0] : v);
    part[1] = complex ? cfx_value_number(v.u.seq->item[1]) : 0;
}

CFX_API cfx_value cfx_value_ref(cfx_value v);
CFX_API void cfx_value_unref(cfx_value v);
/* Like cfx_value_ref, for a value that must outlive the graph whose object it
 * may be: an object that is not counted is copied. Returns an absent value when
 * out of memory. */
CFX_API cfx_value cfx_value_own(cfx_context *ctx, cfx_value v);

/*
 * New objects, with one reference. They take a reference to each item, or copy
 * an item that is not counted. Return an absent value when out of memory, or if
 * the object would nest deeper than CFX_MAX_DEPTH.
 */
CFX_API cfx_value cfx_str_new(cfx_context *ctx, const char *text, size_t len);
CFX_API cfx_value cfx_tuple_new(cfx_context *ctx, size_t n,
                                const cfx_value *items);
CFX_API cfx_value cfx_list_new(cfx_context *ctx, size_t n,
                               const cfx_value *items);
/* Alternating keys and values, 2*n of them. */
CFX_API cfx_value cfx_dict_new(cfx_context *ctx, size_t n,
                               const cfx_value *items);
/* Any kind that is a cfx_seq: slice, range, complex, named tuple, ... */
CFX_API cfx_value cfx_seq_new(cfx_context *ctx, cfx_kind kind, size_t n_items,
                              const cfx_value *items,
                              const cfx_named_tuple *type);

/* A str that names a keyword or the key of a dict: made once in a context, and
 * borrowed from it until its end. Absent when out of memory. */
CFX_API cfx_value cfx_keyword(cfx_context *ctx, const char *name);

/* The value of a string key, or absent. */
CFX_API cfx_value cfx_dict_get(cfx_value dict, const char *key);

/* Equality of kinds and contents: 1, 1.0 and True differ, as do 0.0 and -0.0;
 * NaN equals itself; dicts must have the same order; tensors and nodes are
 * compared by identity. Not recursive. */
CFX_API bool cfx_value_equal(cfx_value a, cfx_value b);

/* The name of a kind in messages: "int", "Tensor", "list", ... */
CFX_API const char *cfx_kind_name(cfx_kind kind);

/* The shortest decimal that reads back as f, as Python's repr writes it
 * ("0.1", "1e-05", "inf"), in every locale. buf holds at least 32 bytes. */
CFX_API void cfx_float_repr(char *buf, double f);

/* Call fn for each value inside v that is not an aggregate, depth first;
 * stops at the first that does not return CFX_OK, and returns that. Keys of
 * dicts are not visited. Fails with CFX_EINVAL beyond CFX_MAX_DEPTH. */
CFX_API cfx_status cfx_value_visit(cfx_value v,
                                   cfx_status (*fn)(void *user, cfx_value v),
                                   void *user);

/* Is fn true of any value inside v that is not an aggregate? Stops at the
 * first. True if v nests deeper than CFX_MAX_DEPTH. */
CFX_API bool cfx_value_any(cfx_value v, bool (*fn)(void *user, cfx_value v),
                           void *user);

/* A copy with fn applied to each value that is not an aggregate: torch.fx's
 * map_aggregate. fn returns a new reference. Unchanged parts are shared. Fails
 * with CFX_ENOMEM, CFX_EINVAL, and like fn. */
CFX_API cfx_status cfx_value_map(cfx_value *out, cfx_context *ctx, cfx_value v,
                                 cfx_status (*fn)(void *user, cfx_value v,
                                                  cfx_value *out),
                                 void *user, cfx_error *err);

/* The deepest nesting of aggregates that is accepted anywhere. */
enum { CFX_MAX_DEPTH = 64 };

CFX_END_DECLS

#endif
