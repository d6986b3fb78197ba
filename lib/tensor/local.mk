libcore_la_SOURCES += \
	%reldir%/copy.c \
	%reldir%/device.c \
	%reldir%/dlpack.c \
	%reldir%/dlpack.h \
	%reldir%/print.c \
	%reldir%/storage.h \
	%reldir%/tensor.c
