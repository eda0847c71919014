(** Real vector spaces with an inner product, of any dimension, finite or not, and what is needed of them here:
    squared lengths, the inequality of Cauchy and Schwarz, and the triangle inequality.
    Vectors of p real coordinates are shown to be such a space, so nothing is assumed that no space has. *)

From Coq Require Import Reals Lra Lia.
From DPADMM Require Import Vectors.
Open Scope R_scope.

(** Sums and multiples of points, and a symmetric, bilinear inner product with <u, u> >= 0. *)
Record space := Space {
  point :> Type;
  plus : point -> point -> point;
  times : R -> point -> point;
  inner : point -> point -> R;
  inner_sym : forall u v, inner u v = inner v u;
  inner_plus : forall u v w, inner (plus u v) w = inner u w + inner v w;
  inner_times : forall c u v, inner (times c u) v = c * inner u v;
  inner_nonneg : forall u, 0 <= inner u u;
}.

Arguments plus {_} _ _.
Arguments times {_} _ _.
Arguments inner {_} _ _.

Section Lengths.
Context {V : space}.
Implicit Types u v w : V.

Definition minus u v : V := plus u (times (-1) v).
Definition squared u : R := inner u u.
Definition length u : R := sqrt (squared u).

Lemma inner_plus_r u v w : inner u (plus v w) = inner u v + inner u w.
Proof. rewrite inner_sym, inner_plus, (inner_sym V v), (inner_sym V w). reflexivity. Qed.

Lemma inner_times_r c u v : inner u (times c v) = c * inner u v.
Proof. rewrite inner_sym, inner_times, (inner_sym V v). reflexivity. Qed.

Lemma inner_minus u v w : inner (minus u v) w = inner u w - inner v w.
Proof. unfold minus. rewrite inner_plus, inner_times. ring. Qed.

Lemma inner_minus_r u v w : inner u (minus v w) = inner u v - inner u w.
Proof. unfold minus. rewrite inner_plus_r, inner_times_r. ring. Qed.

Lemma squared_nonneg u : 0 <= squared u.
Proof. apply inner_nonneg. Qed.

Lemma length_nonneg u : 0 <= length u.
Proof. apply sqrt_pos. Qed.

Lemma length_squared u : length u * length u = squared u.
Proof. apply sqrt_sqrt, squared_nonneg. Qed.

Lemma length_le u c : 0 <= c -> squared u <= c * c -> length u <= c.
Proof.
  intros Hc H. rewrite <- (sqrt_Rsqr c Hc). apply sqrt_le_1_alt. exact H.
Qed.

(** The inequality of Cauchy and Schwarz, squared. *)
Lemma cauchy_schwarz u v : inner u v * inner u v <= squared u * squared v.
Proof.
  unfold squared. destruct (Req_dec (inner v v) 0) as [E|E].
  - (* <u - t v, u - t v> = <u,u> - 2 t <u,v> is nonnegative at t = (<u,u> + 1)/(2 <u,v>) only if <u,v> = 0 *)
    destruct (Req_dec (inner u v) 0) as [F|F]; [rewrite E, F; lra|]. exfalso.
    set (t := (inner u u + 1) / (2 * inner u v)).
    pose proof (inner_nonneg V (minus u (times t v))) as H.
    rewrite !inner_minus, !inner_minus_r, !inner_times, !inner_times_r, (inner_sym V v u), E in H.
    assert (t * inner u v = (inner u u + 1) / 2) by (unfold t; field; exact F). nra.
  - pose proof (inner_nonneg V v) as Hv.
    set (t := inner u v / inner v v).
    pose proof (inner_nonneg V (minus u (times t v))) as H.
    rewrite !inner_minus, !inner_minus_r, !inner_times, !inner_times_r, (inner_sym V v u) in H.
    assert (t * inner v v = inner u v) by (unfold t; field; exact E). nra.
Qed.

Lemma inner_le_lengths u v : inner u v <= length u * length v.
Proof.
  pose proof (cauchy_schwarz u v) as H. rewrite <- !length_squared in H.
  pose proof (length_nonneg u). pose proof (length_nonneg v).
  destruct (Rle_dec (inner u v) 0); [nra|]. apply Rsqr_incr_0; unfold Rsqr; nra.
Qed.

(** The triangle inequality, for a difference. *)
Lemma length_minus u v : length (minus u v) <= length u + length v.
Proof.
  pose proof (length_nonneg u). pose proof (length_nonneg v).
  apply length_le; [lra|]. unfold squared.
  rewrite !inner_minus, !inner_minus_r, (inner_sym V v u).
  pose proof (inner_le_lengths u (times (-1) v)) as H1. rewrite inner_times_r in H1.
  assert (H2 : length (times (-1) v) = length v).
  { unfold length, squared. f_equal. rewrite inner_times, inner_times_r. ring. }
  rewrite H2 in H1. pose proof (length_squared u). pose proof (length_squared v). unfold squared in *. nra.
Qed.
End Lengths.

(** Vectors with p coordinates. *)
Definition coordinates (p : nat) : space.
Proof.
  refine (Space vector (fun u v i => u i + v i) (fun c u i => c * u i) (dot p) _ _ _ _); intros; unfold dot.
  - apply sum_ext; intros; ring.
  - rewrite <- sum_plus. apply sum_ext; intros; ring.
  - rewrite <- sum_scale. apply sum_ext; intros; ring.
  - apply sq_nonneg.
Defined.

(** The differences, squared lengths and lengths of that space are those of [Vectors.v]. *)
Lemma coordinates_minus p (u v : vector) i : @minus (coordinates p) u v i = u i - v i.
Proof. unfold minus; simpl; ring. Qed.

Lemma coordinates_squared p (u : vector) : @squared (coordinates p) u = sq p u.
Proof. reflexivity. Qed.

Lemma coordinates_length p (u : vector) : @length (coordinates p) u = norm p u.
Proof. reflexivity. Qed.

Lemma sq_ext p (u v : vector) : (forall i, (i < p)%nat -> u i = v i) -> sq p u = sq p v.
Proof. intros H. apply sum_ext. intros i Hi. rewrite (H i Hi). reflexivity. Qed.

Lemma norm_ext p (u v : vector) : (forall i, (i < p)%nat -> u i = v i) -> norm p u = norm p v.
Proof. intros H. unfold norm. rewrite (sq_ext p u v H). reflexivity. Qed.

Lemma norm_scale p c (u : vector) : 0 <= c -> norm p (fun i => c * u i) = c * norm p u.
Proof.
  intros Hc. unfold norm. rewrite sq_scale, sqrt_mult; [|nra|apply sq_nonneg].
  f_equal. apply sqrt_square, Hc.
Qed.

Lemma norm_triangle p (u v : vector) : norm p (fun i => u i - v i) <= norm p u + norm p v.
Proof.
  rewrite <- (norm_ext p (@minus (coordinates p) u v)) by (intros; apply coordinates_minus).
  apply (@length_minus (coordinates p)).
Qed.

Lemma norm_nonneg p (u : vector) : 0 <= norm p u.
Proof. apply sqrt_pos. Qed.

Lemma norm_le p (u : vector) c : 0 <= c -> sq p u <= c * c -> norm p u <= c.
Proof. apply (@length_le (coordinates p)). Qed.

Lemma norm_squared p (u : vector) : norm p u * norm p u = sq p u.
Proof. apply (@length_squared (coordinates p)). Qed.
