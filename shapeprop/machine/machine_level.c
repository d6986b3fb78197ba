/*
 * machine_level -- the timed loops for one instruction level.
 *
 * Vectors are the compiler's (GNU C), as wide as the level allows; the plain
 * level uses what every processor of the architecture has. All accumulators are
 * independent, and there are more than needed to hide the latency of a
 * multiply-add. They are initialized from, and stored to, the sink, whose
 * content the compiler does not know.
 */
#include "shapeprop/machine/machine_loops.h"

#include <stdatomic.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define PASTE_(name, level) name##_##level
#define PASTE(name, level) PASTE_(name, level)

/* As many accumulators as registers, less those for operands. */
#if defined(__AVX512F__)
enum { WIDTH = 64, ACC = 24 };
#elif defined(__AVX2__)
enum { WIDTH = 32, ACC = 12 };
#elif defined(__aarch64__)
enum { WIDTH = 16, ACC = 24 };
#else
enum { WIDTH = 16, ACC = 10 };
#endif

enum { STEPS = 8 }; /* for each accumulator, in a round */

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

typedef float vf __attribute__((vector_size(WIDTH), may_alias));
typedef double vd __attribute__((vector_size(WIDTH), may_alias));
typedef uint64_t vi __attribute__((vector_size(WIDTH), may_alias));

/* ---- Arithmetic ---- */

/* x = STEP, where x is an accumulator and a and b are operands. Both are the
 * first values of the sink, so that x * a + b stays bounded. */
#define ARITHMETIC(name, V, ATTRIBUTE, STEP)                                  \
    ATTRIBUTE static void name(int64_t rounds, void *sink)                    \
    {                                                                         \
        V *at = sink;                                                         \
        V acc[ACC], a = at[0], b = at[1];                                     \
                                                                              \
        UNROLL                                                                \
        for (int i = 0; i < ACC; i++)                                         \
            acc[i] = at[2 + i];                                               \
        for (; rounds > 0; rounds--) {                                        \
            UNROLL                                                            \
            for (int k = 0; k < STEPS; k++) {                                 \
                UNROLL                                                        \
                for (int i = 0; i < ACC; i++) {                               \
                    V x = acc[i];                                             \
                    acc[i] = (V)(STEP);                                       \
                }                                                             \
            }                                                                 \
        }                                                                     \
        UNROLL                                                                \
        for (int i = 0; i < ACC; i++)                                         \
            at[2 + i] = acc[i];                                               \
    }

ARITHMETIC(fma_f32, vf, , x *a + b)
ARITHMETIC(fma_f64, vd, , x *a + b)

/* Operations per round, for n in each vector. */
#define OPS(n) ((double)(n)*ACC * STEPS)

/* Pairs of 16-bit products are added in 32 bits: four operations per 32 bits.
 * The accumulator is also a factor; otherwise the compiler would move the
 * product out of the loop. */
#if defined(__AVX512BW__)
ARITHMETIC(dot_int16, __m512i, , _mm512_add_epi32(_mm512_madd_epi16(x, a), b))
#define INT16_OPS OPS(WIDTH)
#elif defined(__AVX2__)
ARITHMETIC(dot_int16, __m256i, , _mm256_add_epi32(_mm256_madd_epi16(x, a), b))
#define INT16_OPS OPS(WIDTH)
#elif defined(__SSE2__)
ARITHMETIC(dot_int16, __m128i, , _mm_add_epi32(_mm_madd_epi16(x, a), b))
#define INT16_OPS OPS(WIDTH)
#elif defined(__aarch64__)
/* Eight products of 8 bits, whose pairs are added to 32 bits. */
ARITHMETIC(dot_int16, int32x4_t, ,
           vpadalq_s16(b, vmull_s8(vget_low_s8(vreinterpretq_s8_s32(x)),
                                   vget_low_s8(vreinterpretq_s8_s32(a)))))
#define INT16_OPS OPS(WIDTH)
#else
typedef int32_t vw __attribute__((vector_size(WIDTH), may_alias));
ARITHMETIC(dot_int16, vw, , x *a + b)
#define INT16_OPS OPS(WIDTH / 2)
#endif

/* int8: four products per 32 bits, eight operations. bfloat16: two products,
 * four operations. */
#if defined(__clang__)
#define CLANG __clang_major__
#define GCC 0
#else
#define CLANG 0
#define GCC __GNUC__
#endif
#if defined(__AVX512F__) && (GCC >= 10 || CLANG >= 9)
#define HAVE_AVX512_DOTS
ARITHMETIC(dot_int8, __m512i, __attribute__((target("avx512vnni"))),
           _mm512_dpbusd_epi32(x, a, b))
ARITHMETIC(dot_bf16, __m512, __attribute__((target("avx512bf16"))),
           _mm512_dpbf16_ps(x, (__m512bh)a, (__m512bh)b))
#elif defined(__AVX2__) && (GCC >= 11 || CLANG >= 12)
#define HAVE_AVX_DOTS
ARITHMETIC(dot_int8, __m256i, __attribute__((target("avxvnni"))),
           _mm256_dpbusd_avx_epi32(x, a, b))
#elif defined(__aarch64__) && GCC >= 10
#define HAVE_NEON_DOTS
ARITHMETIC(dot_int8, int32x4_t,
           __attribute__((target("arch=armv8.2-a+dotprod"))),
           vdotq_s32(x, vreinterpretq_s8_s32(a), vreinterpretq_s8_s32(b)))
ARITHMETIC(dot_bf16, float32x4_t,
           __attribute__((target("arch=armv8.2-a+bf16"))),
           vbfdotq_f32(x, vreinterpretq_bf16_f32(a),
                       vreinterpretq_bf16_f32(b)))
#endif

static const cfx_machine_arithmetic arithmetic[] = {
    {CFX_MACHINE_FLOAT64, CFX_FEATURE_NONE, NULL, OPS(WIDTH / 4), fma_f64},
    {CFX_MACHINE_FLOAT32, CFX_FEATURE_NONE, NULL, OPS(WIDTH / 2), fma_f32},
#if defined(HAVE_AVX512_DOTS)
    {CFX_MACHINE_BFLOAT16, CFX_FEATURE_AVX512_BF16, "BF16", OPS(WIDTH),
     dot_bf16},
    {CFX_MACHINE_INT8, CFX_FEATURE_AVX512_VNNI, "VNNI", OPS(2 * WIDTH),
     dot_int8},
#elif defined(HAVE_AVX_DOTS)
    {CFX_MACHINE_INT8, CFX_FEATURE_AVX_VNNI, "VNNI", OPS(2 * WIDTH), dot_int8},
#elif defined(HAVE_NEON_DOTS)
    {CFX_MACHINE_BFLOAT16, CFX_FEATURE_BF16, "BF16", OPS(WIDTH), dot_bf16},
    {CFX_MACHINE_INT8, CFX_FEATURE_DOTPROD, "dot products", OPS(2 * WIDTH),
     dot_int8},
#endif
    {CFX_MACHINE_INT8, CFX_FEATURE_NONE, NULL, INT16_OPS, dot_int16},
    {.run = NULL},
};

/* ---- Memory ---- */

enum { PER_TURN = 8 }; /* vectors */

#if defined(__AVX512F__)
#define STORE_PAST(p, x) _mm512_stream_si512((__m512i *)(p), (__m512i)(x))
#elif defined(__AVX2__)
#define STORE_PAST(p, x) _mm256_stream_si256((__m256i *)(p), (__m256i)(x))
#elif defined(__SSE2__)
#define STORE_PAST(p, x) _mm_stream_si128((__m128i *)(p), (__m128i)(x))
#endif
#define STORE(p, x) (*(p) = (x))

static void read_all(char *p, size_t bytes, size_t apart, int64_t rounds,
                     void *sink)
{
    vi acc[PER_TURN] = {{0}};

    (void)apart;
    for (; rounds > 0; rounds--) {
        const vi *at = (const vi *)(void *)p;
        const vi *end = (const vi *)(void *)(p + bytes);
        for (; at < end; at += PER_TURN) {
            UNROLL
            for (int i = 0; i < PER_TURN; i++)
                acc[i] |= at[i];
        }
        /* Keep the compiler from merging passes over the same data. */
        atomic_signal_fence(memory_order_seq_cst);
    }
    UNROLL
    for (int i = 1; i < PER_TURN; i++)
        acc[0] |= acc[i];
    memcpy(sink, &acc[0], sizeof(acc[0]));
}

/* Read STREAMS parts alternately, two cache lines of each: a core has more
 * reads in flight than with a single stream. */
enum { STREAMS = 8, STEP_BYTES = 128 };

static void read_streams(char *p, size_t bytes, size_t apart, int64_t rounds,
                         void *sink)
{
    enum { STEP = STEP_BYTES / WIDTH };
    vi acc[STEP] = {{0}};
    const size_t part = bytes / STREAMS / sizeof(vi);

    (void)apart;
    for (; rounds > 0; rounds--) {
        const vi *at = (const vi *)(void *)p, *end = at + part;
        for (; at < end; at += STEP) {
            for (size_t s = 0; s < STREAMS; s++) {
                UNROLL
                for (size_t i = 0; i < STEP; i++)
                    acc[i] |= at[s * part + i];
            }
        }
        atomic_signal_fence(memory_order_seq_cst);
    }
    UNROLL
    for (size_t i = 1; i < STEP; i++)
        acc[0] |= acc[i];
    memcpy(sink, &acc[0], sizeof(acc[0]));
}

#define WRITE(name, STORE, FENCE)                                             \
    static void name(char *p, size_t bytes, size_t apart, int64_t rounds,     \
                     void *sink)                                              \
    {                                                                         \
        vi x = *(vi *)sink;                                                   \
                                                                              \
        (void)apart;                                                          \
        for (; rounds > 0; rounds--) {                                        \
            vi *at = (vi *)(void *)p, *end = (vi *)(void *)(p + bytes);       \
            for (; at < end; at += PER_TURN) {                                \
                UNROLL                                                        \
                for (int i = 0; i < PER_TURN; i++)                            \
                    STORE(at + i, x);                                         \
            }                                                                 \
            atomic_signal_fence(memory_order_seq_cst);                        \
        }                                                                     \
        FENCE;                                                                \
    }

#define TRIAD(name, STORE, FENCE)                                             \
    static void name(char *p, size_t bytes, size_t apart, int64_t rounds,     \
                     void *sink)                                              \
    {                                                                         \
        vd c = *(vd *)sink;                                                   \
                                                                              \
        for (; rounds > 0; rounds--) {                                        \
            vd *x = (vd *)(void *)p, *end = (vd *)(void *)(p + bytes);        \
            const vd *y = (const vd *)(void *)(p + apart);                    \
            const vd *z = (const vd *)(void *)(p + 2 * apart);                \
            for (; x < end; x += PER_TURN, y += PER_TURN, z += PER_TURN) {    \
                UNROLL                                                        \
                for (int i = 0; i < PER_TURN; i++)                            \
                    STORE(x + i, y[i] + c * z[i]);                            \
            }                                                                 \
            atomic_signal_fence(memory_order_seq_cst);                        \
        }                                                                     \
        FENCE;                                                                \
    }

static void update_all(char *p, size_t bytes, size_t apart, int64_t rounds,
                       void *sink)
{
    vd c = *(vd *)sink;

    (void)apart;
    for (; rounds > 0; rounds--) {
        vd *x = (vd *)(void *)p, *end = (vd *)(void *)(p + bytes);
        for (; x < end; x += PER_TURN) {
            UNROLL
            for (int i = 0; i < PER_TURN; i++)
                x[i] = c * x[i];
        }
        atomic_signal_fence(memory_order_seq_cst);
    }
}

WRITE(write_all, STORE, (void)0)
TRIAD(triad_all, STORE, (void)0)
#ifdef STORE_PAST
WRITE(write_past, STORE_PAST, _mm_sfence())
TRIAD(triad_past, STORE_PAST, _mm_sfence())
#endif

const cfx_machine_loops PASTE(cfx_machine_loops, CFX_LEVEL) = {
#if defined(__AVX512F__)
    .name = "AVX-512",
#elif defined(__AVX2__)
    .name = "AVX2",
#elif defined(__SSE2__)
    .name = "SSE2",
#elif defined(__aarch64__)
    .name = "NEON",
#else
    .name = "C",
#endif
    .arithmetic = arithmetic,
    .read = read_all,
    .write = write_all,
    .triad = triad_all,
    .update = update_all,
    .read_streams = read_streams,
#ifdef STORE_PAST
    .write_past = write_past,
    .triad_past = triad_past,
#endif
};
