# Kernels. What is compiled once drives them; the files of KERNEL_LEVEL are
# compiled for each level of instructions, with that level's name.

libcore_la_SOURCES += %reldir%/kernel.c %reldir%/kernel.h %reldir%/simd.h \
    %reldir%/iter.c %reldir%/iter.h %reldir%/convert.h \
    %reldir%/pointwise.c %reldir%/pointwise.h %reldir%/pointwise.def \
    %reldir%/copy.c %reldir%/fill.c \
    %reldir%/reduce.c %reldir%/reduce.h %reldir%/scan.c \
    %reldir%/norm.c %reldir%/norm.h \
    %reldir%/index.c %reldir%/index.h %reldir%/scatter.c \
    %reldir%/rearrange.c %reldir%/sort.c %reldir%/topk.c

KERNEL_LEVEL = \
    %reldir%/pointwise_float.c %reldir%/pointwise_int.c \
    %reldir%/pointwise_loops.h %reldir%/pointwise_table.c \
    %reldir%/math_f32.h %reldir%/math_f64.h %reldir%/math_int.h \
    %reldir%/convert_level.c %reldir%/reduce_level.c %reldir%/norm_level.c

# Matrix products, convolution, pooling, attention, recurrent layers:
# libcore_la_SOURCES += and KERNEL_LEVEL += of their files follow here.

# No fast math: NaN, infinities and signed zeros stay right. Contraction of
# products and sums is wanted; integers wrap around as in PyTorch.
KERNEL_CFLAGS = $(AM_CFLAGS) -O3 -fno-math-errno -fno-trapping-math \
    -ffp-contract=fast -fwrapv

noinst_LTLIBRARIES += libkernel_plain.la
libkernel_plain_la_SOURCES = $(KERNEL_LEVEL)
libkernel_plain_la_CPPFLAGS = $(AM_CPPFLAGS) -DCFX_LEVEL=plain
libkernel_plain_la_CFLAGS = $(KERNEL_CFLAGS)
libcore_la_LIBADD += libkernel_plain.la

if CFX_X86_64
noinst_LTLIBRARIES += libkernel_avx2.la libkernel_avx512.la
libkernel_avx2_la_SOURCES = $(KERNEL_LEVEL)
libkernel_avx2_la_CPPFLAGS = $(AM_CPPFLAGS) -DCFX_LEVEL=avx2
libkernel_avx2_la_CFLAGS = $(KERNEL_CFLAGS) -mavx2 -mfma -mf16c
libkernel_avx512_la_SOURCES = $(KERNEL_LEVEL)
libkernel_avx512_la_CPPFLAGS = $(AM_CPPFLAGS) -DCFX_LEVEL=avx512
libkernel_avx512_la_CFLAGS = $(KERNEL_CFLAGS) -mavx512f -mavx512bw \
    -mavx512dq -mavx512vl -mfma -mf16c -mprefer-vector-width=512
libcore_la_LIBADD += libkernel_avx2.la libkernel_avx512.la
endif

if CFX_AARCH64
noinst_LTLIBRARIES += libkernel_neon.la
libkernel_neon_la_SOURCES = $(KERNEL_LEVEL)
libkernel_neon_la_CPPFLAGS = $(AM_CPPFLAGS) -DCFX_LEVEL=neon
libkernel_neon_la_CFLAGS = $(KERNEL_CFLAGS)
libcore_la_LIBADD += libkernel_neon.la
endif
