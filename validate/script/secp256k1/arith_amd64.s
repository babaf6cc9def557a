//go:build !magnitudes && !purego

#include "textflag.h"

// A field is in R8 (least significant), R9, R10, R11 between the macros; R12 to R15 are the upper half of a product. AX, CX
// and DX are scratch. SI, DI and BX hold pointers. An operand is an offset and a register: of a point, x is at 0, y at 32,
// z at 64; of an affine, x at 0 and y at 32; of differences, h at 0 and s at 32.

#define FOLD $0x1000003d1

#define STORE(o, R) \
	MOVQ R8, (o+0)(R)   \
	MOVQ R9, (o+8)(R)   \
	MOVQ R10, (o+16)(R) \
	MOVQ R11, (o+24)(R)

#define LOAD(o, R) \
	MOVQ (o+0)(R), R8   \
	MOVQ (o+8)(R), R9   \
	MOVQ (o+16)(R), R10 \
	MOVQ (o+24)(R), R11

// SUBTRACT an operand: a borrow takes FOLD off, and a second one once more.
#define SUBTRACT(o, R) \
	MOVQ FOLD, DX       \
	SUBQ (o+0)(R), R8   \
	SBBQ (o+8)(R), R9   \
	SBBQ (o+16)(R), R10 \
	SBBQ (o+24)(R), R11 \
	SBBQ AX, AX         \
	ANDQ DX, AX         \
	SUBQ AX, R8         \
	SBBQ $0, R9         \
	SBBQ $0, R10        \
	SBBQ $0, R11        \
	SBBQ AX, AX         \
	ANDQ DX, AX         \
	SUBQ AX, R8

// REDUCE the 512 bits in R8 to R15: the upper half comes back times FOLD, and what that leaves above (below 2^34) again. A
// last carry leaves a number below 2^67.
#define REDUCE \
	MOVQ  FOLD, DX      \
	XORL  CX, CX        \
	MULXQ R12, AX, CX   \
	ADCXQ AX, R8        \
	ADOXQ CX, R9        \
	MULXQ R13, AX, CX   \
	ADCXQ AX, R9        \
	ADOXQ CX, R10       \
	MULXQ R14, AX, CX   \
	ADCXQ AX, R10       \
	ADOXQ CX, R11       \
	MULXQ R15, AX, R12  \
	MOVL  $0, CX        \
	ADCXQ AX, R11       \
	ADOXQ CX, R12       \
	ADCXQ CX, R12       \
	MULXQ R12, AX, CX   \
	ADDQ  AX, R8        \
	ADCQ  CX, R9        \
	ADCQ  $0, R10       \
	ADCQ  $0, R11       \
	SBBQ  AX, AX        \
	ANDQ  DX, AX        \
	ADDQ  AX, R8        \
	ADCQ  $0, R9

// ROW adds a times the limb in DX to t0 to t3, and sets t4: the carries of the lower words run in CF, of the upper in OF.
#define ROW(ao, A, t0, t1, t2, t3, t4) \
	XORL  t4, t4             \
	MULXQ (ao+0)(A), AX, CX  \
	ADCXQ AX, t0             \
	ADOXQ CX, t1             \
	MULXQ (ao+8)(A), AX, CX  \
	ADCXQ AX, t1             \
	ADOXQ CX, t2             \
	MULXQ (ao+16)(A), AX, CX \
	ADCXQ AX, t2             \
	ADOXQ CX, t3             \
	MULXQ (ao+24)(A), AX, CX \
	ADCXQ AX, t3             \
	ADOXQ CX, t4             \
	ADCQ  $0, t4

// MULTIPLY two operands.
#define MULTIPLY(ao, A, bo, B) \
	MOVQ  (bo+0)(B), DX        \
	MULXQ (ao+0)(A), R8, R9    \
	MULXQ (ao+8)(A), AX, R10   \
	ADDQ  AX, R9               \
	MULXQ (ao+16)(A), AX, R11  \
	ADCQ  AX, R10              \
	MULXQ (ao+24)(A), AX, R12  \
	ADCQ  AX, R11              \
	ADCQ  $0, R12              \
	MOVQ  (bo+8)(B), DX        \
	ROW(ao, A, R9, R10, R11, R12, R13)  \
	MOVQ  (bo+16)(B), DX       \
	ROW(ao, A, R10, R11, R12, R13, R14) \
	MOVQ  (bo+24)(B), DX       \
	ROW(ao, A, R11, R12, R13, R14, R15) \
	REDUCE

// SQUARE an operand: the mixed products are summed in R9 to R14, then doubled along CF while the squares are added along OF.
#define SQUARE(o, A) \
	MOVQ  (o+0)(A), DX        \
	MULXQ (o+8)(A), R9, R10   \
	MULXQ (o+16)(A), AX, R11  \
	ADDQ  AX, R10             \
	MULXQ (o+24)(A), AX, R12  \
	ADCQ  AX, R11             \
	ADCQ  $0, R12             \
	MOVQ  (o+8)(A), DX        \
	XORL  R15, R15            \
	MULXQ (o+16)(A), AX, CX   \
	ADCXQ AX, R11             \
	ADOXQ CX, R12             \
	MULXQ (o+24)(A), AX, R13  \
	ADCXQ AX, R12             \
	ADOXQ R15, R13            \
	ADCXQ R15, R13            \
	MOVQ  (o+16)(A), DX       \
	MULXQ (o+24)(A), AX, R14  \
	ADDQ  AX, R13             \
	ADCQ  $0, R14             \
	XORL  R15, R15            \
	MOVQ  (o+0)(A), DX        \
	MULXQ DX, R8, CX          \
	ADCXQ R9, R9              \
	ADOXQ CX, R9              \
	MOVQ  (o+8)(A), DX        \
	MULXQ DX, AX, CX          \
	ADCXQ R10, R10            \
	ADOXQ AX, R10             \
	ADCXQ R11, R11            \
	ADOXQ CX, R11             \
	MOVQ  (o+16)(A), DX       \
	MULXQ DX, AX, CX          \
	ADCXQ R12, R12            \
	ADOXQ AX, R12             \
	ADCXQ R13, R13            \
	ADOXQ CX, R13             \
	MOVQ  (o+24)(A), DX       \
	MULXQ DX, AX, CX          \
	ADCXQ R14, R14            \
	ADOXQ AX, R14             \
	ADCXQ R15, R15            \
	ADOXQ CX, R15             \
	REDUCE

// THREEHALVES of the field in R8 to R11, as field.threeHalves: three times it in R8 to R12, plus p if odd, halved, folded.
#define THREEHALVES \
	XORL  R12, R12     \
	MOVQ  R8, AX       \
	MOVQ  R9, CX       \
	MOVQ  R10, R13     \
	MOVQ  R11, R14     \
	ADDQ  R8, R8       \
	ADCQ  R9, R9       \
	ADCQ  R10, R10     \
	ADCQ  R11, R11     \
	ADCQ  $0, R12      \
	ADDQ  AX, R8       \
	ADCQ  CX, R9       \
	ADCQ  R13, R10     \
	ADCQ  R14, R11     \
	ADCQ  $0, R12      \
	MOVQ  R8, AX       \
	ANDQ  $1, AX       \
	NEGQ  AX           \
	MOVQ  $-0x1000003d1, CX \
	ANDQ  AX, CX       \
	ADDQ  CX, R8       \
	ADCQ  AX, R9       \
	ADCQ  AX, R10      \
	ADCQ  AX, R11      \
	ADCQ  $0, R12      \
	SHRQ  $1, R9, R8   \
	SHRQ  $1, R10, R9  \
	SHRQ  $1, R11, R10 \
	SHRQ  $1, R12, R11 \
	SHRQ  $1, R12      \
	MOVQ  FOLD, DX     \
	NEGQ  R12          \
	ANDQ  DX, R12      \
	ADDQ  R12, R8      \
	ADCQ  $0, R9       \
	ADCQ  $0, R10      \
	ADCQ  $0, R11      \
	SBBQ  AX, AX       \
	ANDQ  DX, AX       \
	ADDQ  AX, R8

// func hasADX() bool: leaf 7 of CPUID, EBX, bits 8 (BMI2) and 19 (ADX). Both need nothing of the operating system.
TEXT ·hasADX(SB), NOSPLIT, $0-1
	XORL  AX, AX
	XORL  CX, CX
	CPUID
	MOVB  $0, ret+0(FP)
	CMPL  AX, $7
	JLT   done
	MOVL  $7, AX
	XORL  CX, CX
	CPUID
	ANDL  $0x80100, BX
	CMPL  BX, $0x80100
	SETEQ ret+0(FP)

done:
	RET

// func mulADX(r, a, b *field)
TEXT ·mulADX(SB), NOSPLIT, $0-24
	MOVQ r+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), BX
	MULTIPLY(0, SI, 0, BX)
	STORE(0, DI)
	RET

// func sqrsADX(r, a *field, n int)
TEXT ·sqrsADX(SB), NOSPLIT, $0-24
	MOVQ r+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ n+16(FP), BX

again:
	SQUARE(0, SI)
	STORE(0, DI)
	MOVQ DI, SI
	DECQ BX
	JNZ  again
	RET

// func sqrsPairADX(r, a *[2]field, n int)
TEXT ·sqrsPairADX(SB), NOSPLIT, $0-24
	MOVQ r+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ n+16(FP), BX

again:
	SQUARE(0, SI)
	STORE(0, DI)
	SQUARE(32, SI)
	STORE(32, DI)
	MOVQ DI, SI
	DECQ BX
	JNZ  again
	RET

// func tangentADX(r, a *point). On the stack: S at 0, L at 32, T at 64.
TEXT ·tangentADX(SB), NOSPLIT, $96-16
	MOVQ r+0(FP), DI
	MOVQ a+8(FP), SI
	SQUARE(32, SI)
	STORE(0, SP)
	SQUARE(0, SI)
	THREEHALVES
	STORE(32, SP)
	MULTIPLY(0, SI, 0, SP)
	STORE(64, SP)
	MULTIPLY(32, SI, 64, SI)
	STORE(64, DI)
	SQUARE(32, SP)
	SUBTRACT(64, SP)
	SUBTRACT(64, SP)
	STORE(0, DI)
	LOAD(64, SP)
	SUBTRACT(0, DI)
	STORE(64, SP)
	SQUARE(0, SP)
	STORE(0, SP)
	MULTIPLY(64, SP, 32, SP)
	SUBTRACT(0, SP)
	STORE(32, DI)
	RET

// func betweenADX(d *differences, a *point, b *affine, z *field). On the stack: z^2 at 0, z^3 at 32.
TEXT ·betweenADX(SB), NOSPLIT, $64-32
	MOVQ z+24(FP), BX
	SQUARE(0, BX)
	STORE(0, SP)
	MULTIPLY(0, BX, 0, SP)
	STORE(32, SP)
	MOVQ d+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), BX
	MULTIPLY(0, BX, 0, SP)
	SUBTRACT(0, SI)
	STORE(0, DI)
	MULTIPLY(32, BX, 32, SP)
	SUBTRACT(32, SI)
	STORE(32, DI)
	RET

// func chordADX(r, a *point, d *differences). On the stack: h^2, then h^3, then y1 h^3 at 0; x1 h^2 at 32.
TEXT ·chordADX(SB), NOSPLIT, $64-24
	MOVQ r+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ d+16(FP), BX
	SQUARE(0, BX)
	STORE(0, SP)
	MULTIPLY(0, SI, 0, SP)
	STORE(32, SP)
	MULTIPLY(0, BX, 0, SP)
	STORE(0, SP)
	MULTIPLY(64, SI, 0, BX)
	STORE(64, DI)
	SQUARE(32, BX)
	SUBTRACT(0, SP)
	SUBTRACT(32, SP)
	SUBTRACT(32, SP)
	STORE(0, DI)
	MULTIPLY(32, SI, 0, SP)
	STORE(0, SP)
	LOAD(32, SP)
	SUBTRACT(0, DI)
	STORE(32, SP)
	MULTIPLY(32, SP, 32, BX)
	SUBTRACT(0, SP)
	STORE(32, DI)
	RET
