# SPDX-License-Identifier: Apache-2.0
"""Adds the group VTKHDF to a view, if attributes describe a grid or a mesh.

docs/formats/attributes.md names the attributes. The format is version 2.2 of VTKHDF, with all steps
in one file: the steps of a regular grid are the first dimension of its arrays, and those of a mesh
follow one another, at offsets in the group Steps.
"""

from dataclasses import replace

from forebay.view.places import Array, Block, Excluded, Step, arrays_of, attribute_of

VERSION = (2, 2)
ASSOCIATIONS = ("PointData", "CellData")
MESH = ("vtk_points", "vtk_connectivity", "vtk_offsets", "vtk_types")


class _NoMeshError(Exception):
    """Attributes describe a mesh that the fields do not hold."""


def add(view, fields: list[str]) -> list[Excluded]:
    """Adds the mesh of the newest step's `vtk_type` with those of `fields` that belong to it.
    Returns what cannot be shown, and why."""
    kind = view.steps[-1].value("vtk_type")
    if kind is None:
        return []
    makers = {"ImageData": _ImageData, "UnstructuredGrid": _UnstructuredGrid}
    if not isinstance(kind, str) or kind not in makers:
        cause = f"vtk_type is {kind}; views show ImageData and UnstructuredGrid"
        return [Excluded(None, None, cause)]
    try:
        return makers[kind](view, fields).add()
    except _NoMeshError as error:
        return [Excluded(None, None, str(error))]


class _Mesh:
    kind: str

    def __init__(self, view, fields: list[str]):
        self.view, self.fields, self.excluded = view, fields, []

    def make_groups(self, times: list):
        """The groups of a mesh whose steps have these times."""
        if "VTKHDF" in self.view.target:
            raise _NoMeshError("a field has the name VTKHDF, which the group of the mesh needs")
        root = self.view.target.create_group("VTKHDF")
        root.attrs["Version"] = VERSION
        # VTK requires a text of fixed length.
        root.attrs.create("Type", self.kind.encode(), dtype=f"S{len(self.kind)}")
        steps = root.create_group("Steps")
        steps.attrs["NSteps"] = len(times)
        steps["Values"] = [float(time) for time in times]
        for name in ASSOCIATIONS:
            root.create_group(name)
            steps.create_group(f"{name}Offsets")
        return root, steps

    def new_name(self, group, head: dict) -> str | None:
        """The name of an array in `group`; None if another field has it there."""
        name = head["name"].replace("/", "_").replace(".", "_")  # VTK names have neither
        if name not in group:
            return name
        self.exclude(head["name"], f"another field has the name {name} in VTK")
        return None

    def exclude(self, name: str, cause: str) -> None:
        self.excluded.append(Excluded(None, name, f"not in the mesh: {cause}"))

    def head(self, name: str) -> dict:
        return next(s.fields[name].head for s in reversed(self.view.steps) if name in s.fields)


def _time(step: Step):
    return step.number if step.time is None else step.time


class _ImageData(_Mesh):
    kind = "ImageData"

    def add(self) -> list[Excluded]:
        heads = [self.head(name) for name in self.fields]
        grids = [head for head in heads if head["kind"] == "global" and len(head["shape"]) > 1]
        if not grids:
            raise _NoMeshError("vtk_type is ImageData, but no global array has two dimensions")
        self.dimensions = min([3, *(len(head["shape"]) for head in grids)])
        self.points = self._points_of(grids)
        placement = self._placement()
        root, steps = self.make_groups([_time(step) for step in self.view.steps])
        for name, value in placement.items():
            root.attrs[name] = value
        for head in grids:
            self._add_array(root, steps, head)
        return self.excluded

    def _points_of(self, grids: list[dict]) -> list[int]:
        """Points along z, y and x: of the first field of points, else one more than its cells."""
        cells = [attribute_of(head, "vtk_association") == "CellData" for head in grids]
        head = grids[cells.index(False) if False in cells else 0]
        more = 1 if all(cells) else 0
        return [extent + more for extent in head["shape"][: self.dimensions]]

    def _placement(self) -> dict:
        def value(name, default):
            found = self.view.steps[-1].value(name)
            if found is None:
                return default
            if not isinstance(found, list) or len(found) != len(default):
                raise _NoMeshError(f"{name} must have {len(default)} numbers")
            try:
                return [float(one) for one in found]
            except ValueError:
                raise _NoMeshError(f"{name} must have numbers, not {found}") from None

        points = [1] * (3 - self.dimensions) + self.points
        return {
            "WholeExtent": [b for n in reversed(points) for b in (0, n - 1)],
            "Origin": value("vtk_origin", [0.0] * 3),
            "Spacing": value("vtk_spacing", [1.0] * 3),
            "Direction": value("vtk_direction", [1.0, 0, 0, 0, 1.0, 0, 0, 0, 1.0]),
        }

    def _add_array(self, root, steps, head: dict) -> None:
        name = head["name"]
        association = attribute_of(head, "vtk_association") or ASSOCIATIONS[0]
        less = association == "CellData"
        expected = [max(extent - less, 1) for extent in self.points]
        arrays = list(arrays_of(self.view.steps, name))
        if association not in ASSOCIATIONS or head["shape"][: self.dimensions] != expected:
            return self.exclude(name, f"{association} of this grid has the shape {expected}")
        if len(arrays) > 1 or arrays[0].missing_steps:
            return self.exclude(name, "steps lack it, or its shape differs between steps")
        array, node = arrays[0], root[association]
        if (title := self.new_name(node, head)) is None:
            return None
        if self.dimensions == 3:
            node[title] = self.view.target[array.path[0]]
        else:
            blocks = [_with_z(block) for block in array.blocks]
            flat = replace(array, shape=(array.shape[0], 1, *array.shape[1:]), blocks=blocks)
            self.view.assemble(node, title, flat)
        steps[f"{association}Offsets"][title] = list(range(len(self.view.steps)))
        return None


def _with_z(block: Block) -> Block:
    """A block of steps, y and x in an array of steps, z, y and x."""
    start, count = (block.start[0], 0, *block.start[1:]), (1, 1, *block.count[1:])
    return replace(block, start=start, count=count)


class _UnstructuredGrid(_Mesh):
    kind = "UnstructuredGrid"

    def add(self) -> list[Excluded]:
        names = [self.view.steps[-1].value(key) for key in MESH]
        for key, name in zip(MESH, names, strict=True):
            if name not in self.fields:
                raise _NoMeshError(f"{key} names the field {name}, which this view does not have")
        self.names = names
        self._find_meshes()
        root, steps = self.make_groups([_time(self.view.steps[i]) for i in self.shown])
        self._add_mesh(root, steps)
        for name in self.fields:
            if name not in names:
                self._add_array(root, steps, name)
        return self.excluded

    def _find_meshes(self) -> None:
        """`owners`: steps with a mesh of their own. `shown`: steps from the first of these on;
        each has the mesh of the last owner before it. `mesh` is that owner's place in `owners`."""
        self.owners, self.shown, self.mesh = [], [], []
        for i, step in enumerate(self.view.steps):
            if all(name in step.fields for name in self.names):
                self._check_parts(step)
                self.owners.append(i)
            if self.owners:
                self.shown.append(i)
                self.mesh.append(len(self.owners) - 1)
        if not self.owners:
            raise _NoMeshError("no step has all four fields of the mesh")

    def _check_parts(self, step: Step) -> None:
        points, _links, offsets, types = (step.fields[name].parts for name in self.names)
        for name in self.names:
            if step.fields[name].parts.keys() != points.keys() or not points:
                raise _NoMeshError(
                    f"step {step.number}: {name} and {self.names[0]} have "
                    "other parts, and each piece of a mesh needs all"
                )
        for name, dimensions in zip(self.names, (2, 1, 1, 1), strict=True):
            counts = [block.count for block in step.fields[name].parts.values()]
            if any(len(n) != dimensions or n[1:] not in ((), (3,)) for n in counts):
                shape = "points × 3" if dimensions == 2 else "one dimension"
                raise _NoMeshError(f"step {step.number}: {name} must have {shape}")
        for part, block in types.items():
            if offsets[part].count[0] != block.count[0] + 1:
                raise _NoMeshError(
                    f"step {step.number}, part {part}: {self.names[2]} must have "
                    f"{block.count[0] + 1} elements, one more than there are cells"
                )

    def _rows(self, name: str, step: int) -> list[int]:
        parts = self.view.steps[step].fields[name].parts
        return [parts[number].count[0] for number in sorted(parts)]

    def _add_mesh(self, root, steps) -> None:
        titles = ("Points", "Connectivity", "Offsets", "Types")
        first_rows = [
            self._concatenate(root, title, name, self.owners)
            for title, name in zip(titles, self.names, strict=True)
        ]
        counts = ("NumberOfPoints", "NumberOfConnectivityIds", None, "NumberOfCells")
        for title, name in zip(counts, self.names, strict=True):
            if title:
                root[title] = [n for i in self.owners for n in self._rows(name, i)]
        parts = [len(self._rows(self.names[0], i)) for i in self.owners]
        first_parts = [sum(parts[:i]) for i in range(len(parts))]
        steps["NumberOfParts"] = [parts[i] for i in self.mesh]
        steps["PartOffsets"] = [first_parts[i] for i in self.mesh]
        steps["PointOffsets"] = [first_rows[0][i] for i in self.mesh]
        steps["ConnectivityIdOffsets"] = [[first_rows[1][i]] for i in self.mesh]
        steps["CellOffsets"] = [[first_rows[3][i]] for i in self.mesh]

    def _add_array(self, root, steps, name: str) -> None:
        head = self.head(name)
        association = attribute_of(head, "vtk_association")
        if head["kind"] != "parts" or association == "FieldData":
            return None
        if association not in (None, *ASSOCIATIONS):
            return self.exclude(name, f"vtk_association is {association}")
        owner = self.names[3] if association == "CellData" else self.names[0]
        for i, mesh in zip(self.shown, self.mesh, strict=True):
            step = self.view.steps[i]
            if name not in step.fields:
                return self.exclude(name, f"step {step.number} lacks it")
            parts, expected = step.fields[name].parts, self._rows(owner, self.owners[mesh])
            is_array = all(block.count for block in parts.values())
            is_array = is_array and len({block.count[1:] for block in parts.values()}) == 1
            if not is_array or self._rows(name, i) != expected:
                return self.exclude(name, f"step {step.number}: its parts need {expected} rows")
        group = association or ASSOCIATIONS[0]
        if title := self.new_name(root[group], head):
            first = self._concatenate(root[group], title, name, self.shown)
            steps[f"{group}Offsets"][title] = first
        return None

    def _concatenate(self, group, title: str, name: str, steps: list[int]) -> list[int]:
        """A dataset of all parts in all `steps`. Returns the first row of each of these."""
        blocks, first, row = [], [], 0
        for i in steps:
            first.append(row)
            parts = self.view.steps[i].fields[name].parts
            for number in sorted(parts):
                block = parts[number]
                blocks.append(replace(block, start=(row, *block.start[1:])))
                row += block.count[0]
        shape = (row, *blocks[0].count[1:])
        array = Array((title,), shape, self.head(name), blocks, has_step_axis=False)
        self.view.assemble(group, title, array)
        return first
