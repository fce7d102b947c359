/*
 * Writes and reads ELF files of all targets: writes the object with a program's weights, and reads built files.
 *
 * The object is written here and not by an assembler: tcc has no .incbin, and compiling megabytes of numbers as C takes
 * minutes. Its sections are: null, .rodata, .note.GNU-stack, .symtab, .strtab, .shstrtab. .rodata is aligned to a cache
 * line, as its parts are, because a larger alignment could cost a page of padding. The format is that of ELF-64 Object
 * File Format 1.5, and of TIS ELF 1.2 for 32 bits, whose fields have other widths and whose symbols have another order.
 * All targets are little-endian.
 */
#include "program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE = 64 };                      /* cache line: alignment of the parts */

/* ---- writing ----------------------------------------------------------------------------------------------------- */

enum { SEC_NULL, SEC_RODATA, SEC_STACK, SEC_SYMTAB, SEC_STRTAB, SEC_SHSTRTAB, NSEC };

static const char shstrtab[] = "\0.rodata\0.note.GNU-stack\0.symtab\0.strtab\0.shstrtab";

typedef struct Section {
	int name, type, flags;
	int64_t at, size;
	int align, link, info, entry;
	int64_t address;
} Section;

static void
put_le(Buf *b, int bytes, uint64_t x)
{
	for (int i = 0; i < bytes; i++, x >>= 8)
		buf_add(b, &(char){ (char)(x & 0xff) }, 1);
}

/* Writes a number with the width of an address. */
static void
put_word(Buf *b, const ElfKind *k, uint64_t x)
{
	put_le(b, k->bits / 8, x);
}

static void
put_zeros(Buf *b, int64_t to)
{
	while (b->n < to)
		put_le(b, 1, 0);
}

static int64_t
header_bytes(const ElfKind *k)
{
	return k->bits == 32 ? (int64_t)sizeof(Elf32_Ehdr) : (int64_t)sizeof(Elf64_Ehdr);
}

static int64_t
symbol_bytes(const ElfKind *k)
{
	return k->bits == 32 ? (int64_t)sizeof(Elf32_Sym) : (int64_t)sizeof(Elf64_Sym);
}

static void
put_header(Buf *b, const ElfKind *k, int64_t at_sections)
{
	static const char magic[] = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3 };

	buf_add(b, magic, sizeof magic);
	put_le(b, 1, k->bits == 32 ? ELFCLASS32 : ELFCLASS64);
	put_le(b, 1, ELFDATA2LSB), put_le(b, 1, EV_CURRENT);
	put_zeros(b, EI_NIDENT);
	put_le(b, 2, ET_REL), put_le(b, 2, (uint64_t)k->machine), put_le(b, 4, EV_CURRENT);
	put_word(b, k, 0), put_word(b, k, 0), put_word(b, k, (uint64_t)at_sections);
	put_le(b, 4, k->flags), put_le(b, 2, (uint64_t)header_bytes(k));
	put_le(b, 2, 0), put_le(b, 2, 0);
	put_le(b, 2, k->bits == 32 ? sizeof(Elf32_Shdr) : sizeof(Elf64_Shdr));
	put_le(b, 2, NSEC), put_le(b, 2, SEC_SHSTRTAB);
}

static void
put_section(Buf *b, const ElfKind *k, const Section *s)
{
	put_le(b, 4, (uint64_t)s->name), put_le(b, 4, (uint64_t)s->type), put_word(b, k, (uint64_t)s->flags);
	put_word(b, k, 0), put_word(b, k, (uint64_t)s->at), put_word(b, k, (uint64_t)s->size);
	put_le(b, 4, (uint64_t)s->link), put_le(b, 4, (uint64_t)s->info);
	put_word(b, k, (uint64_t)s->align), put_word(b, k, (uint64_t)s->entry);
}

/* Writes the only symbol, which stands for all of .rodata. */
static void
put_symbol(Buf *b, const ElfKind *k, int64_t size)
{
	put_le(b, 4, 1);
	if (k->bits == 32)
		put_le(b, 4, 0), put_le(b, 4, (uint64_t)size);
	put_le(b, 1, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT)), put_le(b, 1, 0), put_le(b, 2, SEC_RODATA);
	if (k->bits == 64)
		put_le(b, 8, 0), put_le(b, 8, (uint64_t)size);
}

/* Writes everything after the weights, which begin at LINE and end at `at`. */
static void
put_rest(Buf *b, const ElfKind *k, const char *name, int64_t size, int64_t at, Section *s)
{
	const int64_t one = symbol_bytes(k), nname = (int64_t)strlen(name) + 1;

	s[SEC_STACK] = (Section){ 9, SHT_PROGBITS, 0, at, 0, 1, 0, 0, 0, 0 };
	s[SEC_SYMTAB] = (Section){ 25, SHT_SYMTAB, 0, at, 2 * one, 8, SEC_STRTAB, 1, (int)one, 0 };
	put_zeros(b, one);
	put_symbol(b, k, size);
	s[SEC_STRTAB] = (Section){ 33, SHT_STRTAB, 0, at + b->n, 1 + nname, 1, 0, 0, 0, 0 };
	buf_add(b, "", 1), buf_add(b, name, nname);
	s[SEC_SHSTRTAB] = (Section){ 41, SHT_STRTAB, 0, at + b->n, sizeof shstrtab, 1, 0, 0, 0, 0 };
	buf_add(b, shstrtab, sizeof shstrtab);
	put_zeros(b, (b->n + 7) & ~(int64_t)7);
}

static bool
write_bytes(FILE *f, const void *p, int64_t n)
{
	return n == 0 || fwrite(p, (size_t)n, 1, f) == 1;
}

bool
weights_write_object(const Weights *w, const char *path, const ElfKind *k, const char *name, const char **why)
{
	static const char zeros[8];
	const int64_t size = w->bytes.n ? w->bytes.n : 1, end = LINE + ((size + 7) & ~(int64_t)7);
	Section s[NSEC] = { [SEC_RODATA] = { 1, SHT_PROGBITS, SHF_ALLOC, LINE, size, LINE, 0, 0, 0, 0 } };
	Buf head = { 0 }, rest = { 0 };
	FILE *f = fopen(path, "wb");
	bool ok;

	put_rest(&rest, k, name, size, end, s);
	put_header(&head, k, end + rest.n);
	put_zeros(&head, LINE);
	for (int i = 0; i < NSEC; i++)
		put_section(&rest, k, &s[i]);
	ok = f && write_bytes(f, head.at, head.n) && spill_write(&w->bytes, f) &&
	     write_bytes(f, zeros, end - LINE - w->bytes.n) && write_bytes(f, rest.at, rest.n);
	if (!ok)
		*why = strerror(errno);
	if (f && fclose(f) && ok) {
		*why = strerror(errno);
		ok = false;
	}
	buf_free(&head);
	buf_free(&rest);
	return ok;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef struct Reading {
	const unsigned char *at;         /* contents of the file */
	int64_t n;
	int     bits;                    /* 32 or 64; 0 if it is not an ELF file */
	int64_t sections;                /* offset in bytes of the section table */
	int     nsection;
} Reading;

/* Returns the number of `bytes` bytes at offset `at`. 0 outside the file. */
static uint64_t
read_le(const Reading *r, int64_t at, int bytes)
{
	uint64_t x = 0;

	if (at < 0 || at > r->n - bytes)
		return 0;
	for (int i = bytes; i-- > 0;)
		x = x << 8 | r->at[at + i];
	return x;
}

/* Reads a file into memory. The result is valid until reading_end. */
static Reading
reading_of(Cx *cx, const char *path)
{
	const int file = open(path, O_RDONLY | O_CLOEXEC);
	Reading r = { 0 };
	struct stat st;
	void *at = MAP_FAILED;

	if (file >= 0 && !fstat(file, &st) && st.st_size)
		at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, file, 0);
	if (at == MAP_FAILED)
		fail(cx, (Range){ 0 }, "%s: %s", path, file >= 0 && !st.st_size ? "it is empty" : strerror(errno));
	close(file);
	r.at = at;
	r.n = (int64_t)st.st_size;
	if (r.n < EI_NIDENT || memcmp(r.at, ELFMAG, SELFMAG) || r.at[EI_DATA] != ELFDATA2LSB)
		return r;
	r.bits = r.at[EI_CLASS] == ELFCLASS32 ? 32 : 64;
	r.sections = (int64_t)read_le(&r, r.bits == 32 ? 32 : 40, r.bits / 8);
	r.nsection = (int)read_le(&r, r.bits == 32 ? 48 : 60, 2);
	return r;
}

static void
reading_end(Reading *r)
{
	munmap((void *)(uintptr_t)r->at, (size_t)r->n);
}

static Section
section_at(const Reading *r, int i)
{
	const int w = r->bits / 8;
	const int64_t at = r->sections + (int64_t)i * (r->bits == 32 ? (int)sizeof(Elf32_Shdr) :
						       (int)sizeof(Elf64_Shdr));

	return (Section){ .type = (int)read_le(r, at + 4, 4), .flags = (int)read_le(r, at + 8, w),
			  .address = (int64_t)read_le(r, at + 8 + w, w),
			  .at = (int64_t)read_le(r, at + 8 + 2 * w, w), .size = (int64_t)read_le(r, at + 8 + 3 * w, w),
			  .link = (int)read_le(r, at + 8 + 4 * w, 4) };
}

/* Returns the number of bytes from the first to the end of the last section with code in [begin, end). */
static int64_t
code_within(const Reading *r, int64_t begin, int64_t end)
{
	int64_t first = end, last = begin;

	for (int i = 0; i < r->nsection; i++) {
		const Section s = section_at(r, i);

		if (!(s.flags & SHF_EXECINSTR) || s.address < begin || s.address + s.size > end)
			continue;
		first = s.address < first ? s.address : first;
		last = s.address + s.size > last ? s.address + s.size : last;
	}
	return last > first ? last - first : 0;
}

/* Returns the number of bytes of code in executable segments, as a program itself reports it (rt/start.c). */
static int64_t
executed_segments(const Reading *r, bool mixed)
{
	const bool narrow = r->bits == 32;
	const int w = r->bits / 8, n = (int)read_le(r, narrow ? 44 : 56, 2);
	const int64_t table = (int64_t)read_le(r, narrow ? 28 : 32, w);
	int64_t bytes = 0;

	for (int i = 0; i < n; i++) {
		const int64_t at = table + (int64_t)i * (narrow ? (int)sizeof(Elf32_Phdr) : (int)sizeof(Elf64_Phdr));
		const int64_t begin = (int64_t)read_le(r, at + (narrow ? 8 : 16), w);
		const int64_t whole = (int64_t)read_le(r, at + (narrow ? 20 : 40), w);

		if (read_le(r, at, 4) == PT_LOAD && read_le(r, at + (narrow ? 24 : 4), 4) & PF_X)
			bytes += mixed || !r->nsection ? whole : code_within(r, begin, begin + whole);
	}
	return bytes;
}

static int64_t
executed_sections(const Reading *r)
{
	int64_t bytes = 0;

	for (int i = 0; i < r->nsection; i++) {
		const Section s = section_at(r, i);

		if (s.flags & SHF_EXECINSTR)
			bytes += s.size;
	}
	return bytes;
}

int64_t
elf_code_bytes(Cx *cx, const char *path, bool mixed)
{
	Reading r = reading_of(cx, path);
	const int64_t bytes = !r.bits ? 0 : read_le(&r, EI_NIDENT, 2) == ET_REL ? executed_sections(&r) :
				executed_segments(&r, mixed);

	reading_end(&r);
	return bytes;
}

int64_t
elf_loaded_bytes(Cx *cx, const char *path)
{
	Reading r = reading_of(cx, path);
	int64_t bytes = 0;

	for (int i = 0; r.bits && i < r.nsection; i++) {
		const Section s = section_at(&r, i);

		if (s.flags & SHF_ALLOC && s.type != SHT_NOBITS)
			bytes += s.size;
	}
	reading_end(&r);
	return bytes;
}

/* Adds one symbol to the defined or undefined ones, if other objects can see it. Undefined weak symbols are left out,
 * because they need no definition. */
static void
note_symbol(Cx *cx, const Reading *r, int64_t at, int64_t names, Texts *defined, Texts *undefined)
{
	const int64_t name = names + (int64_t)read_le(r, at, 4);
	const int bind = ELF64_ST_BIND(read_le(r, at + (r->bits == 32 ? 12 : 4), 1));
	const bool is_here = read_le(r, at + (r->bits == 32 ? 14 : 6), 2) != SHN_UNDEF;

	if (bind == STB_LOCAL || (!is_here && bind == STB_WEAK) || name < 0 || name >= r->n || !r->at[name])
		return;
	vec_push(cx->arena, is_here ? defined : undefined,
		 arena_strndup(cx->arena, (const char *)r->at + name,
			       (int64_t)strnlen((const char *)r->at + name, (size_t)(r->n - name))));
}

void
elf_symbols(Cx *cx, const char *path, Texts *defined, Texts *undefined)
{
	Reading r = reading_of(cx, path);
	const int one = r.bits == 32 ? (int)sizeof(Elf32_Sym) : (int)sizeof(Elf64_Sym);

	for (int i = 0; r.bits && i < r.nsection; i++) {
		const Section s = section_at(&r, i), names = section_at(&r, s.link);

		for (int64_t at = s.at; s.type == SHT_SYMTAB && at + one <= s.at + s.size && at + one <= r.n; at += one)
			note_symbol(cx, &r, at, names.at, defined, undefined);
	}
	reading_end(&r);
}
