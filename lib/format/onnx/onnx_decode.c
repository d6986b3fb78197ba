/*
 * onnx_decode -- the bytes of an ONNX file as messages of protobuf-c.
 *
 * The bytes are checked first: how deeply messages nest, that every length
 * stays within its message, and how much memory the decoder will need, since
 * two bytes of a file can become a message of hundreds. Only then does
 * protobuf-c decode them, with memory that the context counts.
 */
#include <stdint.h>

#include "format/onnx/onnx.h"

/* Three levels for each If within an If; more than any exporter writes. */
enum { MAX_DEPTH = 64 };

/* Memory that messages may need: so much for each byte of the file. Real models
 * need less than 16. */
enum { MAX_GROWTH = 64, MIN_MEMORY = 1 << 20 };

/* ---- Checks before decoding ---- */

typedef struct checker {
    const uint8_t *at;
    size_t memory, limit;
    const char *problem;
} checker;

static bool problem(checker *c, const char *what)
{
    c->problem = what;
    return false;
}

static bool read_varint(checker *c, const uint8_t *end, uint64_t *out)
{
    *out = 0;
    for (int shift = 0; shift < 70; shift += 7) {
        if (c->at == end)
            return problem(c, "it ends within a number");
        uint8_t byte = *c->at++;
        if (shift < 64)
            *out |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return problem(c, "a number has more than 10 bytes");
}

static bool count(checker *c, size_t size)
{
    c->memory += size;
    return c->memory <= c->limit ||
           problem(c, "it needs memory out of proportion to its size");
}

static bool check_message(checker *c, const ProtobufCMessageDescriptor *d,
                          const uint8_t *end, int depth);

/* A field with a length; `field` is NULL if it is skipped. */
static bool check_bytes(checker *c, const ProtobufCFieldDescriptor *field,
                        const uint8_t *end, int depth)
{
    uint64_t n;

    if (!read_varint(c, end, &n))
        return false;
    if (n > (uint64_t)(end - c->at))
        return problem(c, "a length points past its end");
    const uint8_t *next = c->at + n;
    if (!field)
        return count(c, 64 + (size_t)n) && (c->at = next, true);
    if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
        const ProtobufCMessageDescriptor *d = field->descriptor;
        return count(c, d->sizeof_message + 32) &&
               check_message(c, d, next, depth + 1);
    }
    c->at = next;
    if (field->type == PROTOBUF_C_TYPE_STRING ||
        field->type == PROTOBUF_C_TYPE_BYTES)
        return count(c, (size_t)n + 64);
    return n < SIZE_MAX / 16 && count(c, (size_t)n * 8 + 16);
}

static bool check_field(checker *c, const ProtobufCMessageDescriptor *d,
                        const uint8_t *end, int depth)
{
    uint64_t tag, ignored;

    if (!read_varint(c, end, &tag))
        return false;
    if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
        return problem(c, "a field has a number that none can have");
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field(d, (unsigned)(tag >> 3));
    size_t fixed = (tag & 7) == 1 ? 8 : 4;
    switch (tag & 7) {
    case 0: return count(c, 32) && read_varint(c, end, &ignored);
    case 1:
    case 5:
        if ((size_t)(end - c->at) < fixed)
            return problem(c, "it ends within a number");
        c->at += fixed;
        return count(c, 32);
    case 2: return check_bytes(c, field, end, depth);
    default: return problem(c, "a field is of an unknown kind");
    }
}

static bool check_message(checker *c, const ProtobufCMessageDescriptor *d,
                          const uint8_t *end, int depth)
{
    if (depth > MAX_DEPTH)
        return problem(c, "its messages nest too deeply");
    while (c->at < end)
        if (!check_field(c, d, end, depth))
            return false;
    return true;
}

/* ---- Memory ---- */

/* A header before each block, which keeps its alignment: tensors may take the
 * block over. */
typedef struct block {
    cfx_context *ctx;
    size_t size;
} block;

enum { HEADER = 64 };

typedef struct decoder {
    cfx_context *ctx;
    bool no_memory;
} decoder;

static void *decoder_alloc(void *user, size_t size)
{
    decoder *d = user;
    block *b = NULL;
    size_t n;

    if (cfx_add_size(&n, size, HEADER))
        b = cfx_aligned_alloc(d->ctx, n, HEADER);
    d->no_memory = d->no_memory || !b;
    if (!b)
        return NULL;
    *b = (block){d->ctx, n};
    return (char *)b + HEADER;
}

void onnx_block_free(void *p)
{
    block *b = (block *)(void *)((char *)p - HEADER);

    cfx_aligned_free(b->ctx, b, b->size, HEADER);
}

static void decoder_free(void *user, void *p)
{
    (void)user;
    if (p)
        onnx_block_free(p);
}

static ProtobufCAllocator decoder_memory(decoder *d)
{
    return (ProtobufCAllocator){decoder_alloc, decoder_free, d};
}

/* ---- Messages ---- */

cfx_status onnx_decode(onnx_message *out, cfx_context *ctx,
                       const ProtobufCMessageDescriptor *kind,
                       const void *data, size_t size, cfx_error *err)
{
    checker c = {.at = data};
    decoder d = {.ctx = ctx};
    ProtobufCAllocator memory = decoder_memory(&d);

    *out = (onnx_message){.ctx = ctx};
    c.limit = size < SIZE_MAX / MAX_GROWTH - MIN_MEMORY
                  ? size * MAX_GROWTH + MIN_MEMORY
                  : SIZE_MAX;
    if (size && !check_message(&c, kind, c.at + size, 0))
        return cfx_fail(err, CFX_EPARSE,
                        "is not an ONNX file: %s, at byte %zu", c.problem,
                        (size_t)(c.at - (const uint8_t *)data));
    out->base = protobuf_c_message_unpack(kind, &memory, size, data);
    if (!out->base && !d.no_memory)
        return cfx_fail(err, CFX_EPARSE,
                        "is not an ONNX file: a field has a wrong type");
    return out->base ? CFX_OK : cfx_no_memory(err);
}

void onnx_message_release(onnx_message *m)
{
    decoder d = {.ctx = m->ctx};
    ProtobufCAllocator memory = decoder_memory(&d);

    if (m->base)
        protobuf_c_message_free_unpacked(m->base, &memory);
    m->base = NULL;
}
