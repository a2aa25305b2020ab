from .compare import (
    GeometryAgreement as GeometryAgreement,
    GeometrySensitivity as GeometrySensitivity,
    geometry_agreement as geometry_agreement,
    geometry_sensitivity as geometry_sensitivity,
)
from .frame_geometry import geometric_confusions_from_frame as geometric_confusions_from_frame
from .gcm import (
    geometric_confusion as geometric_confusion,
    geometric_confusions as geometric_confusions,
)
from .geometry_plots import plot_clusters as plot_clusters
from .result import GeometricConfusion as GeometricConfusion
