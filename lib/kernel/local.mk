# Kernels. What is compiled once drives them; the files of KERNEL_LEVEL are
# compiled for each level of instructions, with that level's name.

libcore_la_SOURCES += %reldir%/kernel.c %reldir%/kernel.h %reldir%/vec/simd.h \
    %reldir%/iter.c %reldir%/iter.h \
    %reldir%/partition.c %reldir%/partition.h \
    %reldir%/pointwise/pointwise_kernel.c %reldir%/pointwise/pointwise_kernel.h %reldir%/pointwise/pointwise.def \
    %reldir%/pointwise/program.c %reldir%/pointwise/program.h \
    %reldir%/move/copy_kernel.c %reldir%/move/fill.c \
    %reldir%/reduce/reduce_kernel.c %reldir%/reduce/reduce_complex.c %reldir%/reduce/reduce_kernel.h %reldir%/reduce/scan.c \
    %reldir%/norm/norm_kernel.c %reldir%/norm/norm_kernel.h \
    %reldir%/move/index_kernel.c %reldir%/move/index_kernel.h \
    %reldir%/move/rearrange.c %reldir%/reduce/introsort.c \
    %reldir%/reduce/introsort.h %reldir%/reduce/sort.c \
    %reldir%/lapack.c %reldir%/lapack.h

KERNEL_LEVEL = \
    %reldir%/pointwise/pointwise_f32.c %reldir%/pointwise/pointwise_f64.c \
    %reldir%/pointwise/pointwise_int.c %reldir%/pointwise/pointwise_table.c \
    %reldir%/pointwise/pointwise_complex.c %reldir%/pointwise/pointwise_complex.def \
    %reldir%/vec/math_complex.h \
    %reldir%/pointwise/pointwise_loops.h %reldir%/pointwise/pointwise_table.h \
    %reldir%/vec/math_f32.h %reldir%/vec/math_f32_wide.h \
    %reldir%/vec/math_f64.h %reldir%/vec/math_int.h \
    %reldir%/int64.h \
    %reldir%/move/convert_level.c %reldir%/move/convert_level.h \
    %reldir%/move/move_level.c %reldir%/reduce/reduce_level.c %reldir%/reduce/reduce_loops.h \
    %reldir%/norm/norm_level.c %reldir%/norm/norm_loops.h

# Matrix products, convolution, pooling, resampling, attention, recurrent layers.
libcore_la_SOURCES += %reldir%/gemm/gemm.c %reldir%/gemm/gemm.h \
    %reldir%/gemm/gemm_core.c %reldir%/gemm/gemm_core.h \
    %reldir%/gemm/gemm_int.c %reldir%/gemm/gemm_int.h \
    %reldir%/gemm/gemm_blas.c %reldir%/gemm/gemm_blas.h \
    %reldir%/conv/conv_kernel.c %reldir%/conv/conv_kernel.h %reldir%/conv/conv_core.h \
    %reldir%/conv/conv_depthwise.c %reldir%/conv/conv_plain.c \
    %reldir%/conv/conv_product.c %reldir%/conv/conv_windows.c \
    %reldir%/conv/conv_winograd.c %reldir%/conv/conv_winograd.h \
    %reldir%/pool/pool_kernel.c %reldir%/pool/pool_kernel.h %reldir%/pool/pool_core.h \
    %reldir%/resample/resample.c %reldir%/resample/resample.h %reldir%/resample/resample_rows.h \
    %reldir%/resample/regions_kernel.c %reldir%/resample/regions_kernel.h \
    %reldir%/resample/grid_sample_kernel.c %reldir%/move/pad_kernel.c %reldir%/resample/columns.c \
    %reldir%/blocked/blocked.c %reldir%/blocked/blocked.h \
    %reldir%/blocked/pair.c %reldir%/blocked/parts.h \
    %reldir%/blocked/tiles.c %reldir%/blocked/tiles.h \
    %reldir%/blocked/winograd.c %reldir%/blocked/winograd.h \
    %reldir%/conv/winograd_1d.h \
    %reldir%/blocked/packed.c %reldir%/blocked/packed.h \
    %reldir%/blocked/packed_rnn.c %reldir%/blocked/packed_rnn.h \
    %reldir%/blocked/quantized.c %reldir%/blocked/quantized.h \
    %reldir%/blocked/quantized_elements.c %reldir%/blocked/quantized_windows.c \
    %reldir%/blocked/windows.c %reldir%/blocked/geometry.h \
    %reldir%/attention_kernel.c %reldir%/attention_kernel.h \
    %reldir%/attention_packed.c %reldir%/attention_packed.h \
    %reldir%/rnn_kernel.c %reldir%/rnn_kernel.h

KERNEL_LEVEL += %reldir%/gemm/gemm_level.c %reldir%/gemm/gemm_level.h \
    %reldir%/conv/conv_level.c %reldir%/conv/conv_level.h \
    %reldir%/conv/conv_winograd_level.c \
    %reldir%/pool/pool_level.c %reldir%/pool/pool_level.h \
    %reldir%/blocked/blocked_level.c %reldir%/blocked/winograd_level.c \
    %reldir%/blocked/windows_level.c %reldir%/blocked/finish.h \
    %reldir%/blocked/pairs_level.c \
    %reldir%/blocked/quantized_level.c %reldir%/blocked/quantized_vec.h \
    %reldir%/blocked/quantized_plain.h %reldir%/blocked/quantized_avx2.h \
    %reldir%/blocked/quantized_avx512.h %reldir%/blocked/quantized_neon.h \
    %reldir%/blocked/quantized_elements_level.c \
    %reldir%/blocked/quantized_windows_level.c \
    %reldir%/rnn_level.c %reldir%/distance_level.c \
    %reldir%/fft/fft_level.c %reldir%/fft/fft_loops.h \
    %reldir%/vec/vec.h \
    %reldir%/vec/vec_plain.h %reldir%/vec/vec_avx2.h %reldir%/vec/vec_avx512.h \
    %reldir%/vec/vec_neon.h

# No fast math: NaN, infinities and signed zeros stay right. Contraction of
# products and sums is wanted; integers wrap around as in PyTorch; elements are
# moved by their size alone. (For an -O2 in CFLAGS, which comes behind these,
# see simd.h.) clang would name each loop that is not vectorized. gcc would spend up
# to half of its time on noting for debuggers where variables of unrolled loops are.
KERNEL_CFLAGS = $(AM_CFLAGS) $(KERNEL_OPT) -fno-math-errno -fno-trapping-math \
    -ffp-contract=fast -fwrapv -fno-strict-aliasing -falign-loops=32 \
    -Wno-pass-failed -fno-var-tracking

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

# Fourier transforms.
libcore_la_SOURCES += %reldir%/fft/fft_kernel.c %reldir%/fft/fft_kernel.h

# Random numbers.
libcore_la_SOURCES += %reldir%/random_kernel.c %reldir%/random_kernel.h

# Distances of rows.
libcore_la_SOURCES += %reldir%/distance_kernel.c %reldir%/distance_kernel.h

# Special functions.
libcore_la_SOURCES += %reldir%/special/special.h %reldir%/special/gamma.c \
    %reldir%/special/error_kernel.c %reldir%/special/bessel.c \
    %reldir%/special/polynomial.c
