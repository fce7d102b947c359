"""Functions by which the make.py of these folders save a model."""
import io, zipfile


def save(model, path):
    """Saves a scripted model as an archive without the paths of PyTorch's sources."""
    saved = io.BytesIO(model.save_to_buffer())
    with zipfile.ZipFile(saved) as whole, zipfile.ZipFile(path, "w") as archive:
        for entry in whole.infolist():
            if not entry.filename.endswith(".debug_pkl"):
                archive.writestr(entry, whole.read(entry))
