libcore_la_SOURCES += \
	%reldir%/convert.h \
	%reldir%/copy.c \
	%reldir%/device.c \
	%reldir%/dlpack.c \
	%reldir%/dlpack.h \
	%reldir%/dtype.c \
	%reldir%/print.c \
	%reldir%/storage.h \
	%reldir%/tensor.c
