(** The formulas of [Algorithm.v] on rational numbers, where Coq can compute them, and the proof that every one of
    them has the same value there as on the reals. Tests compare these rational values with the Python reference. *)

From Coq Require Import Reals QArith Qround Qreals Lra Lia List FunctionalExtensionality.
From DPADMM Require Import Vectors Algorithm.

(** The rational numbers as a number system; [Qred] keeps fractions short. A quotient by 0 is 0, as on the reals. *)
Definition rationals : numbers :=
  Numbers Q (fun n => inject_Z (Z.of_nat n)) (fun a b => Qred (a + b)) (fun a b => Qred (a - b))
    (fun a b => Qred (a * b)) (fun a b => Qred (a / b)) Qopp (fun a b => negb (Qle_bool a b)) inject_Z Qfloor.

(** The Euclidean length of rationals where it is a rational. *)
Definition rational_length (l : list Q) : Q :=
  let square := fold_right (fun a s => Qred (a * a + s)) 0%Q l in
  Qred (Z.sqrt (Qnum square) # Z.to_pos (Z.sqrt (Zpos (Qden square)))).

Ltac reveal := cbn [of_nat add sub mul div opp greater of_int floor rationals reals].

Lemma Q2R_red a : Q2R (Qred a) = Q2R a.
Proof. apply Qeq_eqR, Qred_correct. Qed.

Lemma Q2R_of_nat n : Q2R (of_nat rationals n) = of_nat reals n.
Proof. simpl. unfold Q2R; simpl. rewrite INR_IZR_INZ. field. Qed.

Lemma Q2R_add a b : Q2R (add rationals a b) = add reals (Q2R a) (Q2R b).
Proof. reveal; rewrite Q2R_red; apply Q2R_plus. Qed.

Lemma Q2R_sub a b : Q2R (sub rationals a b) = sub reals (Q2R a) (Q2R b).
Proof. reveal; rewrite Q2R_red; apply Q2R_minus. Qed.

Lemma Q2R_mul a b : Q2R (mul rationals a b) = mul reals (Q2R a) (Q2R b).
Proof. reveal; rewrite Q2R_red; apply Q2R_mult. Qed.

Lemma Q2R_neg a : Q2R (opp rationals a) = opp reals (Q2R a).
Proof. apply Q2R_opp. Qed.

Lemma Q2R_quotient a b : Q2R (div rationals a b) = div reals (Q2R a) (Q2R b).
Proof.
  reveal; rewrite Q2R_red. destruct (Qeq_dec b 0) as [E|E].
  - rewrite (Qeq_eqR _ _ E), (Qeq_eqR (a / b) 0).
    + unfold Q2R at 1 3; simpl. unfold Rdiv. rewrite Rmult_0_l, Rinv_0. ring.
    + unfold Qdiv. rewrite E. unfold Qinv; simpl. ring.
  - apply Q2R_div, E.
Qed.

Lemma Q2R_greater a b : greater rationals a b = greater reals (Q2R a) (Q2R b).
Proof.
  reveal. unfold real_greater. destruct (Rlt_dec (Q2R b) (Q2R a)) as [H|H].
  - apply Rlt_Qlt in H. apply Bool.negb_true_iff. destruct (Qle_bool a b) eqn:E; [|reflexivity].
    apply Qle_bool_iff in E. exfalso. apply (Qlt_irrefl a). eapply Qle_lt_trans; eauto.
  - apply Rnot_lt_le, Rle_Qle, Qle_bool_iff in H. rewrite H. reflexivity.
Qed.

Lemma Q2R_if (c : bool) (a b : Q) : Q2R (if c then a else b) = if c then Q2R a else Q2R b.
Proof. destruct c; reflexivity. Qed.

Ltac transfer :=
  repeat first
    [ rewrite Q2R_if | rewrite Q2R_quotient | rewrite Q2R_add | rewrite Q2R_sub | rewrite Q2R_mul
    | rewrite Q2R_neg | rewrite Q2R_of_nat | rewrite Q2R_greater ].

(** The proximal maps, the updates and the slope of the loss agree, coordinate by coordinate. *)

Theorem soft_threshold_agrees (w t : Q) :
  Q2R (soft_threshold rationals w t) = soft_threshold reals (Q2R w) (Q2R t).
Proof. unfold soft_threshold, maximum. transfer. reflexivity. Qed.

Theorem prox_l1_agrees (lam w rho : Q) :
  Q2R (prox_l1 rationals lam w rho) = prox_l1 reals (Q2R lam) (Q2R w) (Q2R rho).
Proof. unfold prox_l1. rewrite soft_threshold_agrees. transfer. reflexivity. Qed.

Theorem prox_elastic_net_agrees (lam r w rho : Q) :
  Q2R (prox_elastic_net rationals lam r w rho) = prox_elastic_net reals (Q2R lam) (Q2R r) (Q2R w) (Q2R rho).
Proof. unfold prox_elastic_net. rewrite Q2R_quotient, soft_threshold_agrees. transfer. reflexivity. Qed.

Theorem prox_scad_agrees (lam a w rho : Q) :
  Q2R (prox_scad rationals lam a w rho) = prox_scad reals (Q2R lam) (Q2R a) (Q2R w) (Q2R rho).
Proof.
  unfold prox_scad, absolute, maximum. rewrite !Q2R_if, soft_threshold_agrees. transfer. reflexivity.
Qed.

Theorem prox_mcp_agrees (lam gamma w rho : Q) :
  Q2R (prox_mcp rationals lam gamma w rho) = prox_mcp reals (Q2R lam) (Q2R gamma) (Q2R w) (Q2R rho).
Proof.
  unfold prox_mcp, absolute, maximum. rewrite Q2R_if, Q2R_quotient, soft_threshold_agrees. transfer. reflexivity.
Qed.

Theorem update_x_agrees (g x z y rho eta : Q) :
  Q2R (update_x rationals g x z y rho eta) = update_x reals (Q2R g) (Q2R x) (Q2R z) (Q2R y) (Q2R rho) (Q2R eta).
Proof. unfold update_x. transfer. reflexivity. Qed.

Theorem update_y_agrees (y x z rho : Q) :
  Q2R (update_y rationals y x z rho) = update_y reals (Q2R y) (Q2R x) (Q2R z) (Q2R rho).
Proof. unfold update_y. transfer. reflexivity. Qed.

Theorem huber_slope_agrees (h margin : Q) :
  Q2R (huber_slope rationals h margin) = huber_slope reals (Q2R h) (Q2R margin).
Proof. unfold huber_slope, minimum, maximum. transfer. reflexivity. Qed.

Theorem clipped_slope_agrees (slope norm bound : Q) :
  Q2R (clipped_slope rationals slope norm bound) = clipped_slope reals (Q2R slope) (Q2R norm) (Q2R bound).
Proof. unfold clipped_slope, absolute, maximum. transfer. reflexivity. Qed.

Lemma total_agrees n (f : nat -> Q) (F : nat -> R) :
  (forall i, Q2R (f i) = F i) -> Q2R (total rationals n f) = total reals n F.
Proof.
  intros H. induction n as [|n IH]; cbn [total]; [apply (Q2R_of_nat 0)|].
  rewrite Q2R_add, IH, H. reflexivity.
Qed.

(** A rational vector as a real one. *)
Definition as_real (u : nat -> Q) : nat -> R := fun i => Q2R (u i).
Definition state_as_real (s : state rationals) : state reals :=
  State reals (as_real (state_x _ s)) (as_real (state_z _ s)) (as_real (state_y _ s)).

Theorem gradient_agrees (h : Q) (p n : nat) (data : nat -> nat -> Q) (x : nat -> Q) (i : nat) :
  Q2R (huber_mean_gradient rationals h p n data x i)
  = huber_mean_gradient reals (Q2R h) p n (fun r => as_real (data r)) (as_real x) i.
Proof.
  unfold huber_mean_gradient, mean, huber_gradient. rewrite Q2R_quotient, Q2R_of_nat. f_equal.
  apply total_agrees. intros r. rewrite Q2R_mul, huber_slope_agrees. f_equal. f_equal.
  apply total_agrees. intros j. apply Q2R_mul.
Qed.

(** Rounding agrees. *)
Lemma Q2R_of_int z : Q2R (of_int rationals z) = of_int reals z.
Proof. reveal. unfold Q2R; simpl. field. Qed.

Lemma Q2R_floor a : floor rationals a = floor reals (Q2R a).
Proof.
  reveal. unfold real_floor. rewrite <- (up_tech (Q2R a) (Qfloor a)); [lia| |].
  - change (of_int reals (Qfloor a) <= Q2R a)%R. rewrite <- Q2R_of_int. apply Qle_Rle, Qfloor_le.
  - change (Q2R a < of_int reals (Qfloor a + 1))%R. rewrite <- Q2R_of_int. apply Qlt_Rlt, Qlt_floor.
Qed.

Theorem half_even_agrees (a : Q) : half_even rationals a = half_even reals (Q2R a).
Proof.
  unfold half_even. rewrite !Q2R_greater, Q2R_sub, Q2R_of_int, Q2R_quotient, !Q2R_of_nat, Q2R_floor. reflexivity.
Qed.

Definition real_option (a : option Q) : option R := match a with None => None | Some g => Some (Q2R g) end.

Lemma perturbed_agrees p (grid : option Q) (u noise : nat -> Q) :
  as_real (perturbed rationals p grid u noise) = perturbed reals p (real_option grid) (as_real u) (as_real noise).
Proof.
  apply functional_extensionality. intros i. unfold perturbed, as_real. rewrite Q2R_if. destruct (i <? p)%nat; [|apply Q2R_of_nat].
  rewrite Q2R_add. f_equal. unfold on_grid. destruct grid as [g|]; [|reflexivity]. cbn [real_option].
  rewrite Q2R_mul, Q2R_of_int, half_even_agrees, Q2R_quotient. reflexivity.
Qed.

(** Both algorithms agree as a whole, for every proximal map that agrees and every gradient of records that agrees. *)
Section Runs.
Variables (A B : Type) (as_record : A -> B).
Variables (prox : (nat -> Q) -> Q -> nat -> Q) (Prox : (nat -> R) -> R -> nat -> R).
Variables (gradient : A -> (nat -> Q) -> nat -> Q) (Gradient : B -> (nat -> R) -> nat -> R).
Hypothesis same_prox : forall w rho, as_real (prox w rho) = Prox (as_real w) (Q2R rho).
Hypothesis same_gradient : forall d x, as_real (gradient d x) = Gradient (as_record d) (as_real x).
Variables (rho : Q) (p : nat) (grid : option Q) (eta : nat -> Q) (data : list A) (start : state rationals).

Lemma mean_gradient_agrees records x :
  as_real (mean_gradient rationals gradient records x) = mean_gradient reals Gradient (map as_record records) (as_real x).
Proof.
  apply functional_extensionality. intros i. unfold mean_gradient, mean, as_real at 1.
  rewrite Q2R_quotient, Q2R_of_nat, map_length. f_equal. apply total_agrees. intros r.
  rewrite nth_error_map. destruct (nth_error records r) as [d|]; cbn [option_map]; [|apply (Q2R_of_nat 0)].
  exact (equal_f (same_gradient d x) i).
Qed.

Lemma picked_agrees batch : map as_record (picked data batch) = picked (map as_record data) batch.
Proof.
  unfold picked. induction batch as [|j batch IH]; cbn [flat_map]; [reflexivity|].
  rewrite map_app, IH, nth_error_map. destruct (nth_error data j); reflexivity.
Qed.

Lemma step_x_agrees eta' g old : as_real (step_x rationals rho eta' g old)
  = step_x reals (Q2R rho) (Q2R eta') (as_real g) (state_as_real old).
Proof. apply functional_extensionality. intros i. unfold step_x, as_real at 1. rewrite update_x_agrees. reflexivity. Qed.

Lemma step_w_agrees x old : as_real (step_w rationals rho x old) = step_w reals (Q2R rho) (as_real x) (state_as_real old).
Proof. apply functional_extensionality. intros i. unfold step_w, as_real at 1. transfer. reflexivity. Qed.

Lemma step_y_agrees x z old : as_real (step_y rationals rho x z old)
  = step_y reals (Q2R rho) (as_real x) (as_real z) (state_as_real old).
Proof. apply functional_extensionality. intros i. unfold step_y, as_real at 1. rewrite update_y_agrees. reflexivity. Qed.

Lemma all_states_agree {Y Y'} (input : Y -> Y') (step : nat -> Y -> state rationals -> state rationals)
    (Step : nat -> Y' -> state reals -> state reals) :
  (forall k y old, state_as_real (step k y old) = Step k (input y) (state_as_real old)) -> forall inputs,
  state_as_real (last_state rationals step start inputs) = last_state reals Step (state_as_real start) (map input inputs) /\
  map state_as_real (all_states rationals step start inputs)
  = all_states reals Step (state_as_real start) (map input inputs).
Proof.
  intros H inputs. induction inputs as [|y inputs [IH1 IH2]]; cbn [last_state all_states map]; [split; reflexivity|].
  rewrite H, IH1, IH2, map_length. split; reflexivity.
Qed.

Theorem ssadmm_agrees (inputs : list (list nat * (nat -> Q))) :
  map state_as_real (ssadmm rationals prox rho p grid eta gradient data start inputs)
  = ssadmm reals Prox (Q2R rho) p (real_option grid) (fun k => Q2R (eta k)) Gradient (map as_record data)
      (state_as_real start) (map (fun input => (fst input, as_real (snd input))) inputs).
Proof.
  apply all_states_agree. intros k [b noise] old. unfold iteration, state_as_real at 1. cbn [state_x state_z state_y fst snd].
  rewrite step_y_agrees, same_prox, step_w_agrees, step_x_agrees, perturbed_agrees, mean_gradient_agrees, picked_agrees.
  reflexivity.
Qed.

Theorem mpadmm_all_agrees (noise : list (state rationals)) :
  map state_as_real (mpadmm_all rationals prox rho p grid eta gradient data start noise)
  = mpadmm_all reals Prox (Q2R rho) p (real_option grid) (fun k => Q2R (eta k)) Gradient (map as_record data)
      (state_as_real start) (map state_as_real noise).
Proof.
  apply all_states_agree. intros k drawn old. unfold epoch_all, state_as_real at 1. cbn [state_x state_z state_y].
  rewrite !perturbed_agrees, step_y_agrees, same_prox, step_w_agrees, step_x_agrees, mean_gradient_agrees. reflexivity.
Qed.

Theorem mpadmm_primal_agrees (noise : list (nat -> Q)) :
  map state_as_real (mpadmm_primal rationals prox rho p grid eta gradient data start noise)
  = mpadmm_primal reals Prox (Q2R rho) p (real_option grid) (fun k => Q2R (eta k)) Gradient (map as_record data)
      (state_as_real start) (map as_real noise).
Proof.
  apply all_states_agree. intros k drawn old. unfold epoch_primal, state_as_real at 1. cbn [state_x state_z state_y].
  rewrite step_y_agrees, same_prox, step_w_agrees, perturbed_agrees, step_x_agrees, mean_gradient_agrees. reflexivity.
Qed.
End Runs.

(** The gradient of one record agrees, for every slope that agrees; and so does a map of one coordinate in all. *)
Theorem record_gradient_agrees (slope : Q -> Q) (Slope : R -> R) (clip : option Q) (p : nat) (d : Q * (nat -> Q)) (x : nat -> Q) :
  (forall margin, Q2R (slope margin) = Slope (Q2R margin)) ->
  as_real (record_gradient rationals slope clip p d x)
  = record_gradient reals Slope (real_option clip) p (Q2R (fst d), as_real (snd d)) (as_real x).
Proof.
  intros H. apply functional_extensionality. intros i. unfold record_gradient, as_real at 1. rewrite Q2R_mul.
  assert (E : Q2R (total rationals p (fun j => mul rationals (snd d j) (x j)))
    = total reals p (fun j => mul reals (as_real (snd d) j) (as_real x j))) by (apply total_agrees; intros; apply Q2R_mul).
  cbn [fst snd]. rewrite <- E. unfold record_slope. destruct clip as [bound|]; cbn [real_option].
  - rewrite clipped_slope_agrees, H. reflexivity.
  - rewrite H. reflexivity.
Qed.

Theorem coordinatewise_agrees (prox : Q -> Q -> Q) (Prox : R -> R -> R) (w : nat -> Q) (rho : Q) :
  (forall a, Q2R (prox a rho) = Prox (Q2R a) (Q2R rho)) ->
  as_real (coordinatewise rationals prox w rho) = coordinatewise reals Prox (as_real w) (Q2R rho).
Proof. intros H. apply functional_extensionality. intros i. apply H. Qed.

(** Groups agree where the length of every group does, as it does where it is rational. *)
Theorem prox_group_agrees (size : list Q -> Q) (Size : list R -> R) (lam : Q) (groups : list (list nat)) (w : nat -> Q) (rho : Q) :
  (forall group, In group groups -> Q2R (size (map w group)) = Size (map (as_real w) group)) ->
  as_real (prox_group rationals size lam groups w rho) = prox_group reals Size (Q2R lam) groups (as_real w) (Q2R rho).
Proof.
  intros H. apply functional_extensionality. intros i.
  change (Q2R (prox_group rationals size lam groups w rho i) = prox_group reals Size (Q2R lam) groups (as_real w) (Q2R rho) i).
  unfold prox_group. destruct (find (existsb (Nat.eqb i)) groups) as [group|] eqn:E; [|reflexivity].
  apply find_some in E as [E _]. cbv zeta.
  replace (Size (@map nat (number reals) (as_real w) group)) with (Q2R (size (@map nat (number rationals) w group)))
    by exact (H group E).
  transfer. reflexivity.
Qed.

Theorem rational_length_agrees (l : list Q) :
  (rational_length l * rational_length l == fold_right (fun a s => a * a + s) 0 l)%Q ->
  Q2R (rational_length l) = real_length (map Q2R l).
Proof.
  intros H. unfold real_length. apply Qeq_eqR in H. rewrite Q2R_mult in H.
  assert (S : Q2R (fold_right (fun a s => a * a + s)%Q 0%Q l) = fold_right (fun a s => a * a + s) 0 (map Q2R l)).
  { clear H. induction l as [|a l IH]; cbn [fold_right map]; [unfold Q2R; simpl; field|]. rewrite Q2R_plus, Q2R_mult, IH. reflexivity. }
  rewrite <- S, <- H. symmetry. apply sqrt_square. unfold rational_length. cbv zeta. rewrite Q2R_red. unfold Q2R. cbn [Qnum Qden].
  apply Rmult_le_pos; [apply IZR_le, Z.sqrt_nonneg|left; apply Rinv_0_lt_compat, IZR_lt; reflexivity].
Qed.

(** A vector whose first p entries are computed once, and a run of states that are: what Coq can compute with. *)
Definition frozen (p : nat) (u : nat -> Q) : nat -> Q :=
  let entries := map u (seq 0 p) in fun i => match nth_error entries i with Some v => v | None => u i end.
Definition frozen_state (p : nat) (s : state rationals) : state rationals :=
  State rationals (frozen p (state_x _ s)) (frozen p (state_z _ s)) (frozen p (state_y _ s)).
Fixpoint frozen_states {Y : Type} (p : nat) (step : nat -> Y -> state rationals -> state rationals) (start : state rationals)
    (inputs : list Y) : list (state rationals) :=
  match inputs with
  | nil => nil
  | y :: earlier =>
      let states := frozen_states p step start earlier in
      frozen_state p (step (length earlier) y (match states with nil => start | s :: _ => s end)) :: states
  end.

Lemma frozen_same p u : frozen p u = u.
Proof.
  apply functional_extensionality. intros i. unfold frozen. destruct (nth_error (map u (seq 0 p)) i) eqn:E; [|reflexivity].
  destruct (Nat.lt_ge_cases i p) as [H|H].
  - rewrite nth_error_map in E. rewrite (nth_error_nth' (seq 0 p) 0%nat), seq_nth in E by (rewrite ?seq_length; exact H).
    injection E as <-. reflexivity.
  - assert (nth_error (map u (seq 0 p)) i = None) by (apply nth_error_None; rewrite map_length, seq_length; exact H). congruence.
Qed.

Theorem frozen_states_same {Y : Type} (p : nat) (step : nat -> Y -> state rationals -> state rationals) (start : state rationals)
    (inputs : list Y) : frozen_states p step start inputs = all_states rationals step start inputs.
Proof.
  induction inputs as [|y earlier IH]; cbn [frozen_states all_states last_state]; [reflexivity|]. rewrite IH. f_equal.
  unfold frozen_state. rewrite !frozen_same.
  replace (match all_states rationals step start earlier with nil => start | s :: _ => s end)
    with (last_state rationals step start earlier) by (destruct earlier; reflexivity).
  destruct (step _ _ _). reflexivity.
Qed.
