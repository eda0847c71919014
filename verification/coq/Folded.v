(** The proximal maps of SCAD and MCP, which are not convex: they stretch distances by L = (a-1)/(a-1-1/rho) and
    L = gamma/(gamma-1/rho), both larger than 1 and both attained. What an epoch of Algorithm 2 then costs follows
    in any dimension for every map whose slopes lie between 0 and L. *)

From Coq Require Import Reals Lra Lia.
From DPADMM Require Import Vectors Algorithm InnerProduct SoftThreshold.
Open Scope R_scope.

(** On a set of numbers, f keeps order and stretches no distance by more than L. *)
Definition steep (L : R) (f : R -> R) (A : R -> Prop) : Prop :=
  forall w w', A w -> A w' -> w <= w' -> 0 <= f w' - f w <= L * (w' - w).

(** Left and right of a point b imply both together. *)
Lemma glue L f (A : R -> Prop) b :
  A b -> steep L f (fun w => A w /\ w <= b) -> steep L f (fun w => A w /\ b <= w) -> steep L f A.
Proof.
  intros Hb Hl Hr w w' Hw Hw' H.
  destruct (Rle_dec w' b); [apply Hl; [split; [exact Hw|lra]|split; [exact Hw'|lra]|exact H]|].
  destruct (Rle_dec b w); [apply Hr; [split; [exact Hw|lra]|split; [exact Hw'|lra]|exact H]|].
  assert (0 <= f b - f w <= L * (b - w)) by (apply Hl; [split; [exact Hw|lra]|split; [exact Hb|lra]|lra]).
  assert (0 <= f w' - f b <= L * (w' - b)) by (apply Hr; [split; [exact Hb|lra]|split; [exact Hw'|lra]|lra]).
  lra.
Qed.

(** A linear piece. *)
Lemma steep_linear L f (A : R -> Prop) c d : 0 <= c <= L -> (forall w, A w -> f w = c * w + d) -> steep L f A.
Proof. intros Hc H w w' Hw Hw' Hle. rewrite (H w Hw), (H w' Hw'). split; nra. Qed.

Lemma soft_steep L t A : 0 <= t -> 1 <= L -> steep L (fun w => soft_threshold reals w t) A.
Proof. intros Ht HL w w' _ _ H. pose proof (soft_threshold_steep w w' t Ht H). nra. Qed.

(** The maps in the usual notation. *)
Lemma scad_real lam a w rho : prox_scad reals lam a w rho =
  if Rlt_dec (a * lam) (Rabs w) then w
  else if Rlt_dec (lam * (1 + 1 / rho)) (Rabs w)
  then ((a - 1) * w - (if Rlt_dec 0 w then a * lam * (1 / rho) else - (a * lam * (1 / rho)))) / (a - 1 - 1 / rho)
  else soft_threshold reals w (1 / rho * lam).
Proof.
  unfold prox_scad. rewrite !absolute_real. cbn [greater reals add sub mul div opp of_nat]. unfold real_greater.
  change (INR 1) with 1. change (INR 0) with 0.
  repeat destruct (Rlt_dec _ _); reflexivity.
Qed.

Lemma mcp_real lam gamma w rho : prox_mcp reals lam gamma w rho =
  if Rlt_dec (gamma * lam) (Rabs w) then w
  else soft_threshold reals w (1 / rho * lam) / (1 - 1 / rho / gamma).
Proof.
  unfold prox_mcp. rewrite !absolute_real. cbn [greater reals add sub mul div opp of_nat]. unfold real_greater.
  change (INR 1) with 1. repeat destruct (Rlt_dec _ _); reflexivity.
Qed.

Section Scad.
Variables (lam a rho : R).
Hypothesis lam_positive : 0 < lam.
Hypothesis rho_positive : 0 < rho.
Hypothesis no_jump : 1 + 1 / rho < a.
Let tau := 1 / rho.
Let L := (a - 1) / (a - 1 - tau).
Let P (w : R) : R := prox_scad reals lam a w rho.

Lemma tau_positive : 0 < tau.
Proof. apply Rdiv_lt_0_compat; lra. Qed.

Lemma L_gap : L * (a - 1 - tau) = a - 1 /\ 1 < L.
Proof.
  pose proof tau_positive. fold tau in no_jump. assert (E : L * (a - 1 - tau) = a - 1) by (unfold L; field; lra).
  split; [exact E|]. nra.
Qed.

(** The five pieces, on closed intervals. *)
Lemma scad_pieces w :
  (a * lam <= w -> P w = w) /\ (w <= - (a * lam) -> P w = w) /\
  (lam * (1 + tau) <= w <= a * lam -> P w = L * w - a * lam * tau / (a - 1 - tau)) /\
  (- (a * lam) <= w <= - (lam * (1 + tau)) -> P w = L * w + a * lam * tau / (a - 1 - tau)) /\
  (- (lam * (1 + tau)) <= w <= lam * (1 + tau) -> P w = soft_threshold reals w (tau * lam)).
Proof.
  pose proof tau_positive as Ht. fold tau in no_jump.
  assert (Hord : lam * (1 + tau) < a * lam) by nra.
  assert (Hpos : 0 < lam * (1 + tau)) by nra.
  assert (Htl : 0 <= tau * lam) by nra.
  unfold P. rewrite scad_real. fold tau.
  destruct (soft_threshold_cases w (tau * lam) Htl) as (S1 & S2 & _).
  repeat split; intros H.
  - rewrite Rabs_right by lra. destruct (Rlt_dec _ _); [reflexivity|]. assert (w = a * lam) as -> by lra.
    destruct (Rlt_dec _ _); [|lra]. destruct (Rlt_dec 0 _); [|nra]. field. lra.
  - rewrite Rabs_left by lra. destruct (Rlt_dec _ _); [reflexivity|]. assert (w = - (a * lam)) as -> by lra.
    destruct (Rlt_dec _ _); [|lra]. destruct (Rlt_dec 0 _); [nra|]. field. lra.
  - rewrite Rabs_right by lra. destruct (Rlt_dec _ _); [lra|].
    destruct (Rlt_dec _ _) as [|E]; [destruct (Rlt_dec 0 _); [unfold L; field; lra|lra]|].
    rewrite S1 by nra. assert (w = lam * (1 + tau)) as -> by lra. unfold L. field. lra.
  - rewrite Rabs_left by lra. destruct (Rlt_dec _ _); [lra|].
    destruct (Rlt_dec _ _) as [|E]; [destruct (Rlt_dec 0 _); [lra|unfold L; field; lra]|].
    rewrite S2 by nra. assert (w = - (lam * (1 + tau))) as -> by lra. unfold L. field. lra.
  - assert (Rabs w <= lam * (1 + tau)) by (apply Rabs_le; lra).
    destruct (Rlt_dec _ _); [lra|]. destruct (Rlt_dec _ _); [lra|]. reflexivity.
Qed.

(** Settles: E11. SCAD keeps order and stretches by at most (a-1)/(a-1-1/rho). *)
Theorem scad_stretch (w w' : R) : w <= w' ->
  0 <= prox_scad reals lam a w' rho - prox_scad reals lam a w rho <= (a - 1) / (a - 1 - 1 / rho) * (w' - w).
Proof.
  intros H. fold tau. fold L. fold (P w) (P w').
  pose proof tau_positive as Ht. destruct L_gap as [_ HL]. fold tau in no_jump.
  assert (Hord : lam * (1 + tau) < a * lam) by nra. assert (Hpos : 0 < lam * (1 + tau)) by nra.
  cut (steep L P (fun _ => True)); [intros K; apply K; trivial|].
  apply (glue _ _ _ 0); [exact I|apply (glue _ _ _ (- (lam * (1 + tau)))); [repeat split; lra|apply (glue _ _ _ (- (a * lam)))|]
    |apply (glue _ _ _ (lam * (1 + tau))); [repeat split; lra| |apply (glue _ _ _ (a * lam))]].
  - repeat split; lra.
  - apply steep_linear with 1 0; [lra|]. intros v Hv. rewrite (proj1 (proj2 (scad_pieces v))); lra.
  - apply steep_linear with L (a * lam * tau / (a - 1 - tau)); [lra|]. intros v Hv.
    apply (scad_pieces v); lra.
  - intros v v' Hv Hv' Hle. rewrite !(proj2 (proj2 (proj2 (proj2 (scad_pieces _))))) by lra.
    apply (soft_steep L (tau * lam) (fun _ => True)); trivial; nra.
  - intros v v' Hv Hv' Hle. rewrite !(proj2 (proj2 (proj2 (proj2 (scad_pieces _))))) by lra.
    apply (soft_steep L (tau * lam) (fun _ => True)); trivial; nra.
  - repeat split; lra.
  - apply steep_linear with L (- (a * lam * tau / (a - 1 - tau))); [lra|]. intros v Hv.
    rewrite (proj1 (proj2 (proj2 (scad_pieces v)))) by lra. ring.
  - apply steep_linear with 1 0; [lra|]. intros v Hv. rewrite (proj1 (scad_pieces v)); lra.
Qed.

(** Settles: E11. The constant exceeds 1 and is attained between lam (1+1/rho) and a lam. *)
Theorem scad_stretch_attained :
  1 < (a - 1) / (a - 1 - 1 / rho) /\
  exists w w', w < w' /\
    prox_scad reals lam a w' rho - prox_scad reals lam a w rho = (a - 1) / (a - 1 - 1 / rho) * (w' - w).
Proof.
  fold tau. fold L. pose proof tau_positive as Ht. destruct L_gap as [_ HL]. fold tau in no_jump.
  assert (Hord : lam * (1 + tau) < a * lam) by nra.
  split; [exact HL|]. exists (lam * (1 + tau)), (a * lam). split; [exact Hord|].
  fold (P (lam * (1 + tau))) (P (a * lam)).
  rewrite !(proj1 (proj2 (proj2 (scad_pieces _)))) by lra. ring.
Qed.
End Scad.

Section Mcp.
Variables (lam gamma rho : R).
Hypothesis lam_positive : 0 < lam.
Hypothesis rho_positive : 0 < rho.
Hypothesis no_jump : 1 / rho < gamma.
Let tau := 1 / rho.
Let L := gamma / (gamma - tau).
Let P (w : R) : R := prox_mcp reals lam gamma w rho.

Lemma mcp_facts : 0 < tau < gamma /\ 1 < L /\ (forall v, v / (1 - tau / gamma) = L * v).
Proof.
  assert (Ht : 0 < tau) by (apply Rdiv_lt_0_compat; lra). fold tau in no_jump.
  assert (E : L * (gamma - tau) = gamma) by (unfold L; field; lra).
  repeat split; try lra; [nra|]. intros v. unfold L. field. lra.
Qed.

Lemma mcp_pieces w :
  (gamma * lam <= w -> P w = w) /\ (w <= - (gamma * lam) -> P w = w) /\
  (tau * lam <= w <= gamma * lam -> P w = L * w - L * (tau * lam)) /\
  (- (gamma * lam) <= w <= - (tau * lam) -> P w = L * w + L * (tau * lam)) /\
  (- (tau * lam) <= w <= tau * lam -> P w = 0).
Proof.
  destruct mcp_facts as (Ht & HL & EL). assert (Hord : tau * lam < gamma * lam) by nra.
  assert (Hpos : 0 < tau * lam) by nra.
  assert (Eg : L * (gamma * lam) - L * (tau * lam) = gamma * lam) by (unfold L; field; lra).
  unfold P. rewrite mcp_real. fold tau. rewrite EL.
  destruct (soft_threshold_cases w (tau * lam)) as (S1 & S2 & S3); [lra|].
  repeat split; intros H.
  - rewrite Rabs_right by lra. destruct (Rlt_dec _ _); [reflexivity|]. rewrite S1 by lra.
    assert (w = gamma * lam) as -> by lra. lra.
  - rewrite Rabs_left by lra. destruct (Rlt_dec _ _); [reflexivity|]. rewrite S2 by lra.
    assert (w = - (gamma * lam)) as -> by lra. lra.
  - rewrite Rabs_right by lra. destruct (Rlt_dec _ _); [lra|].
    destruct (Req_dec w (tau * lam)) as [E|E]; [rewrite S3 by lra; rewrite E; ring|rewrite S1 by lra; ring].
  - rewrite Rabs_left by lra. destruct (Rlt_dec _ _); [lra|].
    destruct (Req_dec w (- (tau * lam))) as [E|E]; [rewrite S3 by lra; rewrite E; ring|rewrite S2 by lra; ring].
  - assert (Rabs w <= tau * lam) by (apply Rabs_le; lra).
    destruct (Rlt_dec _ _); [lra|]. rewrite S3 by lra. ring.
Qed.

(** Settles: E11. MCP keeps order and stretches by at most gamma/(gamma-1/rho). *)
Theorem mcp_stretch (w w' : R) : w <= w' ->
  0 <= prox_mcp reals lam gamma w' rho - prox_mcp reals lam gamma w rho <= gamma / (gamma - 1 / rho) * (w' - w).
Proof.
  intros H. fold tau. fold L. fold (P w) (P w').
  destruct mcp_facts as (Ht & HL & _). assert (Hord : tau * lam < gamma * lam) by nra. assert (0 < tau * lam) by nra.
  cut (steep L P (fun _ => True)); [intros K; apply K; trivial|].
  apply (glue _ _ _ 0); [exact I|apply (glue _ _ _ (- (tau * lam))); [repeat split; lra|apply (glue _ _ _ (- (gamma * lam)))|]
    |apply (glue _ _ _ (tau * lam)); [repeat split; lra| |apply (glue _ _ _ (gamma * lam))]].
  - repeat split; lra.
  - apply steep_linear with 1 0; [lra|]. intros v Hv. rewrite (proj1 (proj2 (mcp_pieces v))); lra.
  - apply steep_linear with L (L * (tau * lam)); [lra|]. intros v Hv. apply (mcp_pieces v); lra.
  - apply steep_linear with 0 0; [lra|]. intros v Hv.
    rewrite (proj2 (proj2 (proj2 (proj2 (mcp_pieces v))))) by lra. ring.
  - apply steep_linear with 0 0; [lra|]. intros v Hv.
    rewrite (proj2 (proj2 (proj2 (proj2 (mcp_pieces v))))) by lra. ring.
  - repeat split; lra.
  - apply steep_linear with L (- (L * (tau * lam))); [lra|]. intros v Hv.
    rewrite (proj1 (proj2 (proj2 (mcp_pieces v)))) by lra. ring.
  - apply steep_linear with 1 0; [lra|]. intros v Hv. rewrite (proj1 (mcp_pieces v)); lra.
Qed.

(** Settles: E11. The constant exceeds 1 and is attained between lam/rho and gamma lam. *)
Theorem mcp_stretch_attained :
  1 < gamma / (gamma - 1 / rho) /\
  exists w w', w < w' /\
    prox_mcp reals lam gamma w' rho - prox_mcp reals lam gamma w rho = gamma / (gamma - 1 / rho) * (w' - w).
Proof.
  fold tau. fold L. destruct mcp_facts as (Ht & HL & _). split; [exact HL|].
  exists (tau * lam), (gamma * lam). assert (Hord : tau * lam < gamma * lam) by nra. split; [exact Hord|].
  fold (P (tau * lam)) (P (gamma * lam)). rewrite !(proj1 (proj2 (proj2 (mcp_pieces _)))) by lra. ring.
Qed.
End Mcp.

(** What follows for z and y, in any dimension, from slopes between 0 and L >= 1 in every coordinate. *)
Section Vectors.
Variables (P : R -> R) (L rho : R) (p : nat) (w w' : vector).
Hypothesis L_large : 1 <= L.
Hypothesis rho_positive : 0 < rho.
Hypothesis slopes : forall v v', v <= v' -> 0 <= P v' - P v <= L * (v' - v).
Let dw : vector := fun i => w i - w' i.
Let dz : vector := fun i => P (w i) - P (w' i).
Let dy : vector := fun i => rho * (dw i - dz i).

Lemma dz_between i : (0 <= dw i /\ 0 <= dz i <= L * dw i) \/ (dw i <= 0 /\ L * dw i <= dz i <= 0).
Proof.
  unfold dw, dz. destruct (Rle_dec (w' i) (w i)) as [H|H].
  - left. pose proof (slopes _ _ H). lra.
  - right. pose proof (slopes (w i) (w' i) ltac:(lra)). lra.
Qed.

Lemma square_le (c u v : R) : 0 <= c -> Rabs u <= c * Rabs v -> u * u <= c * c * (v * v).
Proof.
  intros Hc H. replace (u * u) with (Rabs u * Rabs u) by (unfold Rabs; destruct (Rcase_abs u); ring).
  replace (v * v) with (Rabs v * Rabs v) by (unfold Rabs; destruct (Rcase_abs v); ring).
  pose proof (Rabs_pos u). pose proof (Rabs_pos v).
  replace (c * c * (Rabs v * Rabs v)) with ((c * Rabs v) * (c * Rabs v)) by ring. apply Rmult_le_compat; lra.
Qed.

(** Settles: E11. Delta(z) <= L Delta(x). *)
Theorem folded_z : norm p dz <= L * norm p dw.
Proof.
  rewrite <- norm_scale by lra. unfold norm. apply sqrt_le_1_alt. rewrite sq_scale.
  unfold sq, dot. rewrite <- sum_scale. apply sum_le. intros i _. apply square_le; [lra|].
  destruct (dz_between i) as [[]|[]]; unfold Rabs; repeat destruct (Rcase_abs _); nra.
Qed.

(** Settles: E11. Delta(y) <= rho max(1, L-1) Delta(x). *)
Theorem folded_y : norm p dy <= rho * Rmax 1 (L - 1) * norm p dw.
Proof.
  pose proof (Rmax_l 1 (L - 1)). pose proof (Rmax_r 1 (L - 1)). set (M := Rmax 1 (L - 1)) in *.
  rewrite <- norm_scale by nra. unfold norm. apply sqrt_le_1_alt. rewrite sq_scale.
  unfold sq, dot. rewrite <- sum_scale. apply sum_le. intros i _. unfold dy.
  replace (rho * (dw i - dz i) * (rho * (dw i - dz i))) with (rho * rho * ((dw i - dz i) * (dw i - dz i))) by ring.
  replace (rho * M * (rho * M) * (dw i * dw i)) with (rho * rho * (M * M * (dw i * dw i))) by ring.
  apply Rmult_le_compat_l; [nra|]. apply square_le; [lra|].
  destruct (dz_between i) as [[]|[]]; unfold Rabs; repeat destruct (Rcase_abs _); nra.
Qed.

(** Settles: E11. joint^2 <= (1 + max(rho^2, L^2 + rho^2 (L-1)^2)) Delta(x)^2. *)
Theorem folded_joint :
  sq p dw + sq p dz + sq p dy <= (1 + Rmax (rho ^ 2) (L ^ 2 + rho ^ 2 * (L - 1) ^ 2)) * sq p dw.
Proof.
  pose proof (Rmax_l (rho ^ 2) (L ^ 2 + rho ^ 2 * (L - 1) ^ 2)).
  pose proof (Rmax_r (rho ^ 2) (L ^ 2 + rho ^ 2 * (L - 1) ^ 2)).
  set (M := Rmax _ _) in *.
  unfold sq, dot. rewrite <- !sum_plus, <- sum_scale. apply sum_le. intros i _. unfold dy.
  (* dz = theta dw with theta in [0, L]; the quadratic in theta is largest at an end *)
  assert (Ht : exists t, 0 <= t <= L /\ dz i = t * dw i).
  { destruct (Req_dec (dw i) 0) as [E|E].
    - exists 0. split; [lra|]. destruct (dz_between i) as [[]|[]]; nra.
    - exists (dz i / dw i). split; [|field; exact E].
      assert (Ed : dz i = dz i / dw i * dw i) by (field; exact E). set (t := dz i / dw i) in *.
      destruct (dz_between i) as [[H1 H2]|[H1 H2]]; rewrite Ed in H2; split; nra. }
  destruct Ht as [t [Ht ->]]. set (d := dw i).
  assert (Q : t * t + rho ^ 2 * ((1 - t) * (1 - t)) <= M).
  { assert (E : L * (t * t + rho ^ 2 * ((1 - t) * (1 - t)))
                <= (L - t) * rho ^ 2 + t * (L ^ 2 + rho ^ 2 * (L - 1) ^ 2)).
    { assert (0 <= (1 + rho ^ 2) * (t * (L - t))) by (apply Rmult_le_pos; [nra|nra]). nra. }
    assert ((L - t) * rho ^ 2 <= (L - t) * M) by (apply Rmult_le_compat_l; lra).
    assert (t * (L ^ 2 + rho ^ 2 * (L - 1) ^ 2) <= t * M) by (apply Rmult_le_compat_l; lra).
    apply Rmult_le_reg_l with L; lra. }
  assert (0 <= d * d) by apply Rle_0_sqr.
  replace (d * d + t * d * (t * d) + rho * (d - t * d) * (rho * (d - t * d)))
    with ((1 + (t * t + rho ^ 2 * ((1 - t) * (1 - t)))) * (d * d)) by ring.
  apply Rmult_le_compat_r; lra.
Qed.
End Vectors.
